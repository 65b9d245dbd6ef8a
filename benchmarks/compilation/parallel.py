"""Measure native programs in one thread and in several: value, and value and gradient.

Run: python -m benchmarks.compilation.parallel [--threads N] [--repeats N] [--only NAME ...]

Runs in one thread and in several alternate, and the least time of each counts, so that other processes on the machine disturb
both alike. Results are compared before they are timed.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import morula as mo

from ..report import Table, machine, markdown

RNG = np.random.default_rng(0)


def heat(u: Any, steps: int, k: float) -> Any:
    """The heat equation on a grid, by loops over its points."""
    n, m = u.shape
    v = u.copy()
    for _ in range(steps):
        w = v.copy()
        for i in range(1, n - 1):
            for j in range(1, m - 1):
                w[i, j] = v[i, j] + k * (v[i + 1, j] + v[i - 1, j] + v[i, j + 1] + v[i, j - 1] - 4.0 * v[i, j])
        v = w
    return np.sum(v * v)


def heat_by_arrays(u: Any, steps: int, k: float) -> Any:
    """The heat equation on a grid, by operations on whole arrays."""
    u = u.copy()
    for _ in range(steps):
        u[1:-1, 1:-1] += k * (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4.0 * u[1:-1, 1:-1])
    return np.sum(u * u)


def ensemble(p: Any, steps: int) -> Any:
    """Predators and prey by Euler's method, with many pairs of rates."""
    total = 0.0
    for m in range(p.shape[0]):
        x, y = 1.0, 0.5
        for _ in range(steps):
            x, y = x + 0.01 * (p[m, 0] * x - p[m, 1] * x * y), y + 0.01 * (0.3 * x * y - 0.7 * y)
        total += x * x + y * y
    return total


def n_body(x: Any, mass: Any) -> Any:
    """The squares of the forces between bodies."""
    n = x.shape[0]
    f = np.zeros((n, 3))
    for i in range(n):
        fx = fy = fz = 0.0
        for j in range(n):
            dx, dy, dz = x[j, 0] - x[i, 0], x[j, 1] - x[i, 1], x[j, 2] - x[i, 2]
            r2 = dx * dx + dy * dy + dz * dz + 0.01
            w = mass[j] / (r2 * np.sqrt(r2))
            fx += w * dx
            fy += w * dy
            fz += w * dz
        f[i, 0], f[i, 1], f[i, 2] = fx, fy, fz
    return np.sum(f * f)


def elementwise(a: Any) -> Any:
    """Functions of the elements of a matrix."""
    return np.sum(np.exp(-a * a) * np.sin(a) + np.cos(a))


PROGRAMS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "heat, loops, 2,000 x 2,000": (heat, (RNG.random((2000, 2000)), 10, 0.1)),
    "heat, arrays, 2,000 x 2,000": (heat_by_arrays, (RNG.random((2000, 2000)), 10, 0.1)),
    "ensemble, 10,000 x 200 steps": (ensemble, (RNG.random((10_000, 2)), 200)),
    "n-body, 2,000": (n_body, (RNG.random((2000, 3)), RNG.random(2000))),
    "exp, sin, cos, 2,000 x 2,000": (elementwise, (RNG.random((2000, 2000)),)),
}


def seconds(f: Callable[..., Any], args: tuple[Any, ...]) -> float:
    began = time.perf_counter()
    f(*args)
    return time.perf_counter() - began


def row(f: Callable[..., Any], args: tuple[Any, ...], threads: int, repeats: int) -> list[str]:
    """Return the milliseconds in one thread and in several, and their ratio, for the value and for value and gradient."""
    cells = []
    for g in (f, mo.value_and_grad(f)):
        one = mo.jit(g, target="native")
        several = mo.jit(g, target="native", parallel=threads)
        for x, y in zip(mo.tree.leaves(one(*args)), mo.tree.leaves(several(*args)), strict=True):
            np.testing.assert_allclose(x, y, rtol=1e-9)
        times = [(seconds(one, args), seconds(several, args)) for _ in range(repeats)]
        before, after = (min(column) for column in zip(*times))
        cells += [f"{1e3 * before:.1f}", f"{1e3 * after:.1f}", f"{before / after:.2f}"]
    return cells


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.compilation.parallel", description=__doc__)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=15)
    parser.add_argument("--only", nargs="+", default=[""], help="the beginnings of programs' names")
    options = parser.parse_args()
    titles = ["ms, 1 thread", f"ms, {options.threads} threads", "ratio"]
    rows: Table = [["program", *(f"{what}: {title}" for what in ("value", "with gradient") for title in titles)]]
    for name, (f, args) in PROGRAMS.items():
        if name.startswith(tuple(options.only)):
            rows.append([name, *row(f, args, options.threads, options.repeats)])
    print(machine(), markdown(rows), sep="\n\n")


if __name__ == "__main__":
    main()
