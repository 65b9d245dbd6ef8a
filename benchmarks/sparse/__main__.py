"""Run the programs, and print and write the report; see the package's docstring."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable
from datetime import date
from typing import Any

import numpy as np
from scipy.optimize._numdiff import approx_derivative, group_columns

import morula as mo

from ..report import RESULTS, Table, machine, markdown
from . import held_out, programs
from .program import Program

GROUPS = {"Tuned": programs.PROGRAMS, "Held out": held_out.PROGRAMS}
TITLES = ["unknowns", "groups", "f, ms", "pattern, s", "colouring, s", "first call, s", "matrix, ms"]
TITLES += ["matrix / (groups f)", "SciPy, ms", "JAX, ms", "SciPy / morula", "JAX / morula"]


def milliseconds(calls: dict[str, Callable[[], Any]], repeats: int) -> dict[str, float]:
    """Return the least time of each call; they alternate, so that other processes disturb all alike."""
    found = dict.fromkeys(calls, np.inf)
    for call in calls.values():
        call()
    for _ in range(repeats):
        for name, call in calls.items():
            began = time.perf_counter()
            call()
            found[name] = min(found[name], 1e3 * (time.perf_counter() - began))
    return found


def in_jax(program: Program, made: Any, x: np.ndarray) -> Callable[[], Any] | None:
    """Return JAX's compressed matrix, by the directions and places of morula's plan; None if it has other than columns."""
    try:
        import jax
    except ImportError:
        return None
    found = made.found(x)
    plan = found.plan
    if program.with_xp is None or plan.columns is None or plan.rows is not None:
        return None
    jax.config.update("jax_enable_x64", True)
    f = lambda x: program.with_xp(x, jax.numpy)  # type: ignore[misc]  # noqa: E731
    g = jax.grad(f) if program.is_hessian else f
    x, seeds, places = (jax.numpy.asarray(a) for a in (x, found.seeds[0], plan.places))  # type: ignore[assignment]

    @jax.jit
    def entries(x: Any, seeds: Any, places: Any) -> Any:
        compressed = jax.vmap(lambda dx: jax.jvp(g, (x,), (dx,))[1])(seeds)
        return jax.numpy.ravel(compressed)[places]

    return lambda: entries(x, seeds, places).block_until_ready()


def row(program: Program, repeats: int) -> list[str]:
    x = program.x(program.n)
    f = mo.jit(program.f)
    made: Any = (mo.sparse_hessian if program.is_hessian else mo.sparse_jacobian)(program.f)
    began = time.perf_counter()
    matrix = made(x)
    first = time.perf_counter() - began
    found = made.found(x)
    pattern, groups = found.plan.pattern, sum(found.plan.counts)
    differentiated = mo.jit(mo.grad(program.f)) if program.is_hessian else f
    structure = pattern, group_columns(pattern)

    def by_differences() -> Any:
        return approx_derivative(differentiated, x, "2-point", sparsity=structure)

    calls = {"f": lambda: f(x), "matrix": lambda: made(x), "SciPy": by_differences}
    jax = in_jax(program, made, x)
    if jax is not None:
        calls["JAX"] = jax
        np.testing.assert_allclose(matrix.data, jax(), rtol=1e-9, atol=1e-9)
    error = np.abs(by_differences() - matrix).max() / np.abs(matrix.data).max()
    assert error < 1e-5, f"the differences are off by {error}"
    name = "gradient" if program.is_hessian else "f"
    if program.is_hessian:  # between the others, so that it finds the caches as they do
        calls = {"gradient": lambda: differentiated(x), **calls}
    ms = milliseconds(calls, repeats)
    cells = [f"{program.n:,}", str(groups), f"{ms[name]:.3g}" + (" (gradient)" if program.is_hessian else "")]
    cells += [f"{found.seconds['pattern']:.2f}", f"{found.seconds['colouring']:.2f}", f"{first:.2f}"]
    cells += [f"{ms['matrix']:.3g}", f"{ms['matrix'] / groups / ms[name]:.2f}"]
    peers = [ms.get("SciPy"), ms.get("JAX")]
    cells += [f"{t:.3g}" if t else "" for t in peers]
    return cells + [f"{t / ms['matrix']:.2f}" if t else "" for t in peers]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.sparse", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="three repeats, and no file written")
    parser.add_argument("--only", nargs="+", default=[""], help="the beginnings of programs' names; no file written")
    options = parser.parse_args()
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[-1:])
    sections = [f"# Sparse Jacobians and Hessians, {date.today()}", f"{machine()}; one core used; all float64"]
    for title, group in GROUPS.items():
        rows: Table = [["program", *TITLES]]
        for name, program in group.items():
            if name.startswith(tuple(options.only)):
                print(name, "...", file=sys.stderr, flush=True)
                rows.append([name, *row(program, 3 if options.quick else 25)])
        if len(rows) > 1:
            sections += [f"## {title}", markdown(rows)]
    print(*sections, sep="\n\n")
    if not options.quick and options.only == [""]:
        path = RESULTS / f"sparse-{date.today()}.md"
        path.write_text("\n\n".join(sections) + "\n")
        print(f"written: {path}")


if __name__ == "__main__":
    main()
