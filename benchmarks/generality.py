"""Measure value and gradient relative to the plain call, for programs that were not written for differentiation.

Run: python -m benchmarks.generality [--quick] [--no-peers] [name ...]

The programs are the calls of ``tests/thirdparty`` (install the extra ``thirdparty``) and some of SciPy's own solvers and
of plain Python.  autograd, JAX and PyTorch (extra ``bench``) are given the same functions, and are timed if they run
them and give the right gradient.  Held-out packages, which are never profiled to make morula faster, are summarised
separately.  Times are processor time; first calls are wall-clock time.  The tables are written to
benchmarks/results/generality-<date>.md.
"""

from __future__ import annotations

import argparse
import math
import signal
import sys
import warnings
from collections.abc import Callable, Iterator
from datetime import date
from pathlib import Path
from statistics import median, quantiles
from time import perf_counter, process_time
from typing import Any

import numpy as np
from scipy.integrate import solve_ivp
from scipy.interpolate import CubicSpline
from scipy.optimize import minimize

import morula as mo

from .report import RESULTS, machine, markdown

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from thirdparty.harness import packages  # noqa: E402

Case = tuple[str, Callable[..., Any], tuple[Any, ...], bool]
"""A name, a function, its arguments, and whether its package is held out: never profiled to make morula faster."""


def lotka_volterra(method: str) -> Callable[..., Any]:
    def final_prey(p: Any) -> Any:
        def rate(t: float, u: Any) -> Any:
            return np.array([p[0] * u[0] - p[1] * u[0] * u[1], -p[2] * u[1] + p[3] * u[0] * u[1]])

        return solve_ivp(rate, (0, 5), np.array([1.0, 1.0]), method=method, rtol=1e-6).y[0, -1]

    return final_prey


def minimum(a: float) -> Any:
    return minimize(lambda x: (x[0] - a) ** 2 + 10 * (x[1] - a * x[0]) ** 2, np.array([0.0, 0.0]), method="BFGS").x[1]


def spline(y: Any) -> Any:
    return float(CubicSpline(np.linspace(0, 1, len(y)), y)(0.37))


class Vector:
    """A vector in the plane, with operators."""

    __slots__ = ("x", "y")

    def __init__(self, x: float, y: float) -> None:
        self.x, self.y = x, y

    def __add__(self, other: Vector) -> Vector:
        return Vector(self.x + other.x, self.y + other.y)

    def __mul__(self, scale: float) -> Vector:
        return Vector(self.x * scale, self.y * scale)


def spiral(a: float) -> float:
    v = Vector(a, 1.0)
    for _ in range(100):
        v = v + Vector(v.y, -v.x) * 0.01 * a
    return math.hypot(v.x, v.y)


def generated(a: float) -> float:
    def values() -> Iterator[float]:
        x = a
        for _ in range(100):
            x = x * 0.99 + 0.01
            yield x

    return sum(values())


def cases() -> Iterator[Case]:
    """SciPy's solvers and plain Python first, then the packages."""
    start = np.array([1.5, 1.0, 3.0, 1.0])
    for method in ("RK23", "RK45", "DOP853", "Radau", "BDF"):
        yield f"scipy solve_ivp {method}", lotka_volterra(method), (start,), False
    yield "scipy minimize BFGS", minimum, (1.3,), False
    yield "scipy CubicSpline", spline, (np.array([0.0, 1.0, 0.5, 2.0, 1.0]),), False
    yield "python objects with operators", spiral, (0.7,), False
    yield "python generator", generated, (0.7,), False
    for package in packages():
        for name, call in package.calls.items():
            yield f"{package.distribution} {name.replace('_', ' ')}", call.function, call.arguments, package.held_out


def total(y: Any) -> Any:
    """The sum of the real numbers in any result, as a loss to differentiate."""
    if isinstance(y, dict):
        y = list(y.values())
    if isinstance(y, (tuple, list)):
        return sum(total(e) for e in y)
    if isinstance(y, (bool, int, str)) or y is None:
        return 0.0
    if not isinstance(y, (float, complex)) and not hasattr(y, "dtype"):
        return total(vars(y))
    part: Any = getattr(y, "real", y)
    return part.sum() if hasattr(part, "sum") and np.ndim(part) else part


def differentiated(arguments: tuple[Any, ...]) -> list[int]:
    """The positions of the arguments that are real numbers or arrays, which every peer accepts."""
    return [i for i, x in enumerate(arguments) if isinstance(x, (float, np.ndarray)) and np.asarray(x).dtype == float]


def by_autograd(loss: Any, chosen: list[int], arguments: tuple[Any, ...]) -> Callable[[], Any]:
    import autograd  # type: ignore[import-not-found]

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


def measure(case: Case, repeats: int, given: list[str]) -> list[Any] | None:
    """A row of the table: name, plain time, first call, morula's ratio, the peers' ratios, whether it is held out."""
    name, f, arguments, held_out = case

    def summed(*xs: Any) -> Any:
        return total(f(*xs))

    loss = f if isinstance(f(*arguments), float) else summed
    chosen = differentiated(arguments)
    if not chosen:
        return None
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


def distribution(ratios: list[float], what: str) -> str:
    """One line with the distribution of some programs' ratios."""
    if len(ratios) < 2:
        return f"{what}: {len(ratios)} programs."
    first, middle, third = quantiles(ratios, n=4, method="inclusive")
    within = [f"{sum(r <= bound for r in ratios) / len(ratios):.0%} within {bound}" for bound in (12, 35)]
    return (
        f"{what}: {len(ratios)} programs; median {middle:.1f}, quartiles {first:.1f} and {third:.1f}, "
        f"{', '.join(within)}, largest {max(ratios):.1f}."
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer repeats")
    parser.add_argument("--no-peers", action="store_true", help="morula alone")
    parser.add_argument("names", nargs="*", help="only the programs whose names contain one of these")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    given = [] if options.no_peers else list(PEERS)
    rows: list[list[Any]] = []
    refused: list[str] = []
    for case in cases():
        if options.names and not any(n in case[0] for n in options.names):
            continue
        try:
            row = measure(case, 3 if options.quick else 7, given)
        except mo.NoDerivative as error:  # some packages run numba-compiled code if numba is installed
            print(f"{case[0]:55s} refused: {str(error).splitlines()[0]}", flush=True)
            refused.append(case[0])
            continue
        if row is not None:
            rows.append(row)
            print(f"{row[0]:55s} {row[1] * 1e6:10.1f} us   first {row[2]:6.2f} s   {row[3]:7.1f} x", flush=True)
    if not rows:
        parser.error(f"no program has a name that contains {' or '.join(options.names)}")
    able = {peer: sum(isinstance(row[4 + i], float) for row in rows) for i, peer in enumerate(given)}
    wrong = {peer: sum(row[4 + i] == "wrong" for row in rows) for i, peer in enumerate(given)}
    summary = [
        "Value and gradient over the plain call:",
        distribution([row[3] for row in rows if not row[-1]], "Packages that speed was worked on with"),
        distribution([row[3] for row in rows if row[-1]], "Packages held out"),
        distribution([row[3] for row in rows], "All"),
        f"Refused: {', '.join(refused) or 'none'}.",
        f"Longest first call: {max(row[2] for row in rows):.2f} s.",
        *(f"{p} runs {n} of them rightly, and gives a wrong gradient for {wrong[p]}." for p, n in able.items()),
    ]
    heading = ["program", "plain, us", "first call, s", "morula", *given, "held out"]
    table = [heading]
    for row in rows:
        shown = [f"{x:.1f}" if isinstance(x, float) else str(x) for x in row[3:-1]]
        table.append([row[0], f"{row[1] * 1e6:.1f}", f"{row[2]:.2f}", *shown, "yes" if row[-1] else ""])
    text = "\n\n".join(["# Generality", machine(), *summary, markdown(table)]) + "\n"
    if not options.names and not options.quick and not options.no_peers:
        (RESULTS / f"generality-{date.today()}.md").write_text(text)
    print("\n".join(summary))


if __name__ == "__main__":
    main()
