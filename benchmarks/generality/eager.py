"""Value and gradient, eager, relative to the plain call, by morula and its peers."""

from __future__ import annotations

import importlib
import signal
from collections.abc import Callable
from statistics import median
from time import perf_counter, process_time
from typing import Any

import numpy as np

import morula as mo

from .programs import Case, differentiated, total


def by_autograd(loss: Any, chosen: list[int], arguments: tuple[Any, ...]) -> Callable[[], Any]:
    autograd: Any = importlib.import_module("autograd")
    run = autograd.value_and_grad(loss, argnum=tuple(chosen))
    return lambda: run(*arguments)[1]


def by_jax(loss: Any, chosen: list[int], arguments: tuple[Any, ...]) -> Callable[[], Any]:
    import jax  # type: ignore[import-not-found]

    jax.config.update("jax_enable_x64", True)
    run = jax.value_and_grad(loss, argnums=tuple(chosen))
    return lambda: run(*arguments)[1]


def by_torch(loss: Any, chosen: list[int], arguments: tuple[Any, ...]) -> Callable[[], Any]:
    import torch  # type: ignore[import-not-found]

    def run() -> Any:
        given = list(arguments)
        for i in chosen:
            given[i] = torch.tensor(arguments[i], dtype=torch.float64, requires_grad=True)
        loss(*given).backward()
        return [given[i].grad for i in chosen]

    return run


PEERS = {"autograd": by_autograd, "JAX": by_jax, "PyTorch": by_torch}


def peers(given: list[str], loss: Any, chosen: list[int], arguments: tuple[Any, ...], right: Any) -> dict[str, Any]:
    """For each peer, a program to time if its gradient is right, and a remark otherwise."""
    found: dict[str, Any] = {}
    for name in given:
        try:
            signal.alarm(PATIENCE)
            run = PEERS[name](loss, chosen, arguments)
            # PyTorch gives None for unused inputs: zero.
            gradient = [np.zeros(1) if g is None else np.asarray(g) for g in run()]
        except ImportError:
            found[name] = "not installed"
        except TimeoutError:
            found[name] = f"over {PATIENCE} s"
        except Exception:  # a peer may raise anything for a program that it does not support
            found[name] = "cannot run it"
        else:
            agrees = all(np.allclose(g, r, rtol=1e-4, atol=1e-8) for g, r in zip(gradient, right))
            found[name] = run if agrees else "wrong"
        finally:
            signal.alarm(0)
    return found


PATIENCE = 20
"""The time limit in seconds for a peer's first gradient of a program."""


def _give_up(*_: object) -> None:
    raise TimeoutError


signal.signal(signal.SIGALRM, _give_up)


def cost(programs: dict[str, Callable[[], Any]], repeats: int) -> dict[str, float]:
    """The median processor time of each program in seconds, after one warm-up run, with the repeats interleaved."""
    rounds = {}
    for name, program in programs.items():
        program()
        start = process_time()
        program()
        rounds[name] = max(1, int(2e-3 / max(process_time() - start, 1e-6)))
    times: dict[str, list[float]] = {name: [] for name in programs}
    for _ in range(repeats):
        for name, program in programs.items():
            start = process_time()
            for _ in range(rounds[name]):
                program()
            times[name].append((process_time() - start) / rounds[name])
    return {name: median(found) for name, found in times.items()}


def measure(case: Case, repeats: int, given: list[str]) -> list[Any]:
    """A row of the table: name, plain time, first call, morula's ratio, the peers' ratios, whether it is held out."""
    name, f, arguments, held_out = case

    def summed(*xs: Any) -> Any:
        return total(f(*xs))

    loss = f if isinstance(f(*arguments), float) else summed
    chosen = differentiated(arguments)
    run = mo.value_and_grad(loss, argnums=chosen)
    start = perf_counter()
    right = run(*arguments)[1]
    first = perf_counter() - start
    others = peers(given, loss, chosen, arguments, right)
    programs = {"plain": lambda: f(*arguments), "morula": lambda: run(*arguments)}
    programs |= {peer: p for peer, p in others.items() if callable(p)}
    times = cost(programs, repeats)
    ratios = [times["morula"] / times["plain"]]
    ratios += [times[peer] / times["plain"] if peer in times else others[peer] for peer in given]
    return [name, times["plain"], first, *ratios, held_out]
