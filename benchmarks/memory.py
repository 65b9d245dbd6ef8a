"""Measure the memory and the time of the gradient of a wave equation, under budgets and policies, and beside JAX.

Run: python -m benchmarks.memory [--quick] [--only NAME ...]

The program makes 1,000 steps on 200 x 200 points; the gradient is that with respect to the speed of sound at each point. Each row is
a process of its own. Its peak is the largest resident memory during the first call of the compiled (eagerly: of the once
called) gradient, minus the resident memory before that call. The extra forward passes are the steps that are run again to
get to states that are not held, and to store what the adjoint of a step needs, in units of the 1,000 steps.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np

import morula as mo

from .report import RESULTS, Table, machine, markdown

STEPS, POINTS, CHUNK = 1000, 200, 50


def step(u: Any, v: Any, c: Any) -> tuple[Any, Any]:
    lap = np.zeros_like(u)
    lap[1:-1, 1:-1] = u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] - 4 * u[1:-1, 1:-1]
    return 2 * u - v + c * lap, u


def wave(c: Any, u: Any, steps: int) -> Any:
    v = u
    for _ in range(steps):
        u, v = step(u, v, c)
    return np.sum(u * u)


def several_steps(u: Any, v: Any, c: Any, steps: int) -> tuple[Any, Any]:
    for _ in range(steps):
        u, v = step(u, v, c)
    return u, v


def wave_in_chunks(c: Any, u: Any, steps: int) -> Any:
    """Chunks of steps, each a checkpointed call."""
    v = u
    for _ in range(steps // CHUNK):
        u, v = mo.checkpoint(several_steps, u, v, c, CHUNK)
    return np.sum(u * u)


def in_jax(kind: str) -> Callable[..., Any]:
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_enable_x64", True)

    def one(c: Any, state: Any) -> Any:
        u, v = state
        inner = u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] - 4 * u[1:-1, 1:-1]
        return 2 * u - v + c * jnp.zeros_like(u).at[1:-1, 1:-1].set(inner), u

    def several(c: Any, state: Any, n: int) -> Any:
        return jax.lax.scan(lambda s, _: (one(c, s), None), state, None, length=n)[0]

    def f(c: Any, u: Any) -> Any:
        if kind == "scan":
            u, _ = several(c, (u, u), STEPS)
        else:
            chunk = jax.checkpoint(lambda s: several(c, s, CHUNK))
            u, _ = jax.lax.scan(lambda s, _: (chunk(s), None), (u, u), None, length=STEPS // CHUNK)[0]
        return jnp.sum(u * u)

    return jax.jit(jax.grad(f))


CASES = {
    **{f"{path}, {kind}": (path, kind) for path in ("native", "xla", "eager") for kind in ("plain", "chunks")},
    **{f"{path}, {room}": (path, room) for path in ("native", "xla", "eager") for room in ("100MB", "40MB", "15MB")},
    **{
        f"{path}, {name}": (path, name)
        for name in ("sqrt", "offload", "inverse")
        for path in ("native", "xla", "eager")
    },
    "JAX, scan": ("jax", "scan"),
    "JAX, checkpointed chunks": ("jax", "chunks"),
}


def gradient_of(path: str, kind: str, steps: int) -> Callable[..., Any]:
    if path == "jax":
        return in_jax(kind)

    def f(c: Any, u: Any) -> Any:
        if kind == "plain":
            return wave(c, u, steps)
        if kind == "chunks":
            return wave_in_chunks(c, u, steps)
        return mo.checkpoint(wave, c, u, steps, **({"memory": kind} if kind[0].isdigit() else {"policy": kind}))

    return mo.grad(f) if path == "eager" else mo.jit(mo.grad(f), target=path)


def arguments() -> tuple[Any, Any]:
    x = np.linspace(-1, 1, POINTS)
    return 0.1 * np.ones((POINTS, POINTS)), np.exp(-20 * (x[:, None] ** 2 + x**2))


def status(name: str) -> float:
    """An entry of the process's memory status, in MB."""
    text = Path("/proc/self/status").read_text()
    return int(text.partition(f"{name}:")[2].split()[0]) * 1024 / 1e6


def extra_passes(path: str, kind: str, g: Any) -> float | None:
    """The extra forward passes: counted eagerly, as ``explain`` states them otherwise; None where nobody knows."""
    if path == "jax" or kind == "plain":
        return None if path == "jax" else 0.0
    if kind in ("chunks", "inverse"):  # each step once more, beside its inverse
        return 1.0
    if path != "eager":
        return next(float(part.split()[-4]) for part in g.explain(*arguments()).split(",") if "extra forward" in part)
    from morula.core.eager.recorded.recomputed_loops import _For
    from morula.core.eager.recorded.typed_iterations import TypedIterations

    count = [0]

    def counted(cls: Any, name: str, iterations: Callable[..., int]) -> None:
        run = getattr(cls, name)

        def method(*args: Any) -> Any:
            count[0] += iterations(*args)
            return run(*args)

        setattr(cls, name, method)

    counted(_For, "step", lambda *args: 1)
    for name in ("advance", "record"):
        counted(TypedIterations, name, lambda self, *args: args[-2] - args[-3])
    g(*arguments())
    return count[0] / STEPS - 1


def measure(name: str, repeats: int) -> dict[str, Any]:
    """Measure a case in this process."""
    path, kind = CASES[name]
    args = arguments()
    g: Any = gradient_of(path, kind, STEPS)
    if path == "eager":
        gradient_of(path, kind, 2 * CHUNK)(*args)
    elif path == "jax":
        g = g.lower(*args).compile()
    else:
        g.lower(*args).compile()
    Path("/proc/self/clear_refs").write_text("5")  # sets the peak to what is resident now
    before = status("VmRSS")
    found = np.asarray(g(*args))
    peak = status("VmHWM") - before
    times = []
    for _ in range(repeats):
        began = time.perf_counter()
        np.asarray(g(*args))
        times.append(time.perf_counter() - began)
    return {"peak": peak, "seconds": min(times), "sum": float(found.sum()), "extra": extra_passes(path, kind, g)}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.memory", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="one repeat, and no file written")
    parser.add_argument("--only", nargs="+", default=[""], help="the beginnings of cases' names; no file written")
    parser.add_argument("--case", help=argparse.SUPPRESS)
    parser.add_argument("--repeats", type=int, default=5, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.case:
        print(json.dumps(measure(options.case, options.repeats)))
        return
    found: dict[str, dict[str, Any]] = {}
    for name in CASES:
        if name.startswith(tuple(options.only)):
            print(f"{name} ...", file=sys.stderr, flush=True)
            command = [sys.executable, "-m", "benchmarks.memory", "--case", name]
            command += ["--repeats", "1" if options.quick else "5"]
            run = subprocess.run(command, capture_output=True, text=True, check=True)
            found[name] = json.loads(run.stdout.splitlines()[-1])
    for row in found.values():
        np.testing.assert_allclose(row["sum"], next(iter(found.values()))["sum"], rtol=1e-9)
    rows: Table = [["gradient", "peak, MB", "s", "over plain", "extra forward passes"]]
    for name, row in found.items():
        path = name.partition(",")[0]
        plain = found.get(f"{path}, plain") or found.get("JAX, scan")
        ratio = f"{row['seconds'] / plain['seconds']:.2f}" if plain else ""
        extra = "" if row["extra"] is None else f"{row['extra']:.2f}"
        rows.append([name, f"{row['peak']:.0f}", f"{row['seconds']:.2f}", ratio, extra])
    title = f"# The gradient of a wave equation in limited memory, {date.today()}"
    text = "\n\n".join([title, f"{machine()}; {STEPS:,} steps, {POINTS} x {POINTS} points", markdown(rows)])
    print(text)
    if not options.quick and options.only == [""]:
        (RESULTS / f"memory-{date.today()}.md").write_text(text + "\n")


if __name__ == "__main__":
    main()
