"""Measure the cost of eager gradients against plain Python and peers, in one run.

Run: python benchmarks/eager.py [--quick]        (pip install "morula[bench]" adds the peers, PyTorch and autograd)

Each figure is a median of repeats.  The programs' repeats are interleaved, so that a slow phase of the machine affects all
alike.  The tables are printed, and written to benchmarks/results/eager-<date>.md.
"""

from __future__ import annotations

import argparse
import gc
import importlib
import os
import platform
import subprocess
import sys
from collections.abc import Callable
from datetime import date
from math import cos, sin
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np
from scipy import optimize

import morula as mo
from morula import optim

Table = list[list[str]]
HERE = Path(__file__).resolve().parent


def timed(programs: dict[str, Callable[[], Any]], repeats: int) -> dict[str, float]:
    """The median time in seconds of each program, after one warm-up run.

    Within a measurement a program is repeated, for about two milliseconds.
    """
    rounds = {}
    for name, program in programs.items():
        program()
        once = _seconds(program, 1)
        rounds[name] = max(1, int(2e-3 / max(once, 1e-9)))
    times: dict[str, list[float]] = {name: [] for name in programs}
    for _ in range(repeats):
        for name, program in programs.items():
            times[name].append(_seconds(program, rounds[name]) / rounds[name])
    return {name: median(values) for name, values in times.items()}


def _seconds(program: Callable[[], Any], rounds: int) -> float:
    gc.collect()
    start = perf_counter()
    for _ in range(rounds):
        program()
    return perf_counter() - start


# Scalars: a loop of sin, multiply, add


ITERATIONS = 10_000
OPERATIONS = 3 * ITERATIONS


def chain(x):
    for _ in range(ITERATIONS):
        x = sin(x) * 0.9 + 0.4
    return x


def chain_by_hand(x):
    """The adjoint of ``chain``, written by hand: the forward sweep pushes on a stack, the backward sweep pops."""
    stack = []
    for _ in range(ITERATIONS):
        stack.append(x)
        x = sin(x) * 0.9 + 0.4
    dx = 1.0
    while stack:
        dx = dx * 0.9 * cos(stack.pop())
    return x, dx


def chain_in_torch(torch: Any) -> Callable[[], Any]:
    def run() -> Any:
        leaf = torch.tensor(0.5, dtype=torch.float64, requires_grad=True)
        x = leaf
        for _ in range(ITERATIONS):
            x = torch.sin(x) * 0.9 + 0.4
        x.backward()
        return leaf.grad

    torch.set_num_threads(1)
    return run


def chain_in_autograd(autograd: Any) -> Callable[[], Any]:
    autograd_numpy = importlib.import_module("autograd.numpy")

    def run(x: Any) -> Any:
        for _ in range(ITERATIONS):
            x = autograd_numpy.sin(x) * 0.9 + 0.4
        return x

    gradient = autograd.grad(run)
    return lambda: gradient(0.5)


PEERS = {"PyTorch eager": ("torch", chain_in_torch), "autograd": ("autograd", chain_in_autograd)}


def scalars(repeats: int) -> Table:
    gradient = mo.value_and_grad(chain)
    assert np.allclose(gradient(0.5), chain_by_hand(0.5))
    programs: dict[str, Callable[[], Any]] = {
        "plain Python, forward only": lambda: chain(0.5),
        "adjoint by hand, with a stack": lambda: chain_by_hand(0.5),
        "morula": lambda: gradient(0.5),
    }
    missing = []
    for name, (module, program) in PEERS.items():
        try:
            library = importlib.import_module(module)
        except ImportError:
            missing.append(name)
        else:
            programs[f"{name} {getattr(library, '__version__', '')}".strip()] = program(library)
    times = timed(programs, repeats)
    rows = [["program", "ns per operation", "against morula"]]
    for name, seconds in times.items():
        rows.append([name, f"{seconds / OPERATIONS * 1e9:.1f}", f"{seconds / times['morula']:.3g} x"])
    return rows + [[name, "not installed", ""] for name in missing]


# Vectors of 1,000


def element_wise(x):
    y = np.tanh(1.5 * x + 0.1)
    z = np.exp(-(y**2)) * np.cos(x)
    return np.sum(np.sqrt(z**2 + 1.0))


def log_sum_exp(x):
    top = np.max(x)
    return top + np.log(np.sum(np.exp(x - top)))


def logistic_loss(x):
    return np.mean(np.log1p(np.exp(-LABELS * x)))


def rosenbrock(x):
    return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)


def matrix_chain(x):
    return np.sum(np.tanh(WEIGHTS.T @ np.tanh(WEIGHTS @ x)) ** 2)


VECTOR = np.random.default_rng(0).normal(size=1000)
LABELS = np.sign(np.random.default_rng(1).normal(size=1000))
WEIGHTS = np.random.default_rng(2).normal(size=(100, 1000)) / 10
VECTOR_PROGRAMS = (element_wise, log_sum_exp, logistic_loss, rosenbrock, matrix_chain)


def vectors(repeats: int) -> Table:
    rows = [["program", "forward, us", "forward + backward, us", "ratio"]]
    for program in VECTOR_PROGRAMS:
        gradient = mo.value_and_grad(program)
        both = timed({"forward": lambda: program(VECTOR), "both": lambda: gradient(VECTOR)}, repeats)  # noqa: B023
        forward, backward = both["forward"], both["both"]
        rows.append([program.__name__, f"{forward * 1e6:.1f}", f"{backward * 1e6:.1f}", f"{backward / forward:.2f} x"])
    return rows


# Filling an array


def fill(x, n):
    a = np.zeros(n)
    for i in range(n):
        a[i] = x * i
    return np.sum(a)


def filling(repeats: int) -> Table:
    gradient = mo.grad(fill)
    rows = [["elements", "ms", "ns per element", "against the row before"]]
    before = None
    for n in (1_000, 10_000, 100_000):
        seconds = timed({"": lambda: gradient(2.0, n)}, repeats)[""]  # noqa: B023
        growth = "" if before is None else f"{seconds / before:.1f} x"
        rows.append([f"{n:,}", f"{seconds * 1e3:.2f}", f"{seconds / n * 1e9:.0f}", growth])
        before = seconds
    return rows


# A tall Jacobian: 20,000 residuals in 2 parameters

TIMES = np.linspace(0.0, 5.0, 20_000)


def decay(p):
    return p[0] * np.exp(-p[1] * TIMES)


def misfit(p):
    return decay(p) - decay(np.array([2.0, 0.7]))


def jacobian_by_hand(p):
    y = np.exp(-p[1] * TIMES)
    return np.stack([y, -p[0] * TIMES * y], -1)


def tall(repeats: int) -> Table:
    p, start = np.array([1.5, 0.5]), np.array([1.0, 1.0])
    jacobian, compiled = mo.jacobian(misfit), mo.jit(mo.jacobian(misfit))
    np.testing.assert_allclose(jacobian(p), jacobian_by_hand(p), rtol=1e-12)
    times = timed(
        {
            "residuals in NumPy": lambda: misfit(p),
            "Jacobian by hand in NumPy": lambda: jacobian_by_hand(p),
            "mo.jacobian(f)": lambda: jacobian(p),
            "mo.jit(mo.jacobian(f))": lambda: compiled(p),
            "the fit by mo.optim.least_squares": lambda: optim.least_squares(misfit, start),
            "the fit by scipy.optimize.least_squares": lambda: optimize.least_squares(misfit, start),
        },
        repeats,
    )
    unit = times["residuals in NumPy"]
    rows = [[name, f"{t * 1e3:.3f}", f"{t / unit:.1f} x"] for name, t in times.items()]
    return [["program", "ms", "against the residuals"], *rows]


# Starting: imports and first calls, each in a fresh interpreter


def thirty_lines(x, n):
    total = 0.0
    scale = 1.0
    history = []
    for i in range(n):
        if i % 3 == 0:
            scale = scale * sin(x + i)
        elif i % 3 == 1:
            scale = scale + cos(x) * 0.5
        else:
            scale = scale / (1.0 + x * x)
        history.append(scale)
        total += scale**2
        if total > 100.0:
            break
    a = np.zeros(4)
    for k in range(4):
        a[k] = x * history[k] + total
    b = np.tanh(a) + np.exp(-a)
    weights = {"first": x, "second": 2.0 * x}
    for name, w in weights.items():
        if name == "first":
            b = b * w
        else:
            b = b + w**2
    largest = np.max(b)
    while largest > 2.0:
        largest = largest * 0.5
        total = total + largest
    mean = np.sum(b) / len(b)
    spread = np.sqrt(np.sum((b - mean) ** 2) + 1e-3)
    return mean * spread + total


def in_a_fresh_interpreter(program: str, repeats: int) -> float:
    """The median of the number of seconds that ``program`` prints."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(HERE), *sys.path])}
    command = [sys.executable, "-c", f"from time import perf_counter as now\n{program}"]
    runs = [
        subprocess.run(command, env=environment, capture_output=True, text=True, check=True) for _ in range(repeats)
    ]
    return median(float(run.stdout) for run in runs)


def starting(repeats: int) -> Table:
    first = "import eager, morula as mo\n{before}t = now()\nmo.grad(eager.thirty_lines)(0.7, 8)\nprint(now() - t)"
    programs = {
        "import numpy": "t = now()\nimport numpy\nprint(now() - t)",
        "import morula, over import numpy": "import numpy\nt = now()\nimport morula\nprint(now() - t)",
        "import morula and a first gradient, of x * x, over import numpy": (
            "import eager\nt = now()\neager.mo.grad(eager.square)(3.0)\nprint(now() - t)"
        ),
        "first gradient of a process, a 30-line function": first.format(before=""),
        "first gradient of a 30-line function, after another": first.format(before="mo.grad(eager.square)(3.0)\n"),
    }
    rows = [["program", "ms"]]
    return rows + [[name, f"{in_a_fresh_interpreter(p, repeats) * 1e3:.1f}"] for name, p in programs.items()]


def square(x):
    return x * x


# The report


def machine() -> str:
    cpu = platform.processor() or platform.machine()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        models = [line.partition(":")[2].strip() for line in cpuinfo.read_text().splitlines() if "model name" in line]
        cpu = models[0] if models else cpu
    return (
        f"{cpu}, {os.cpu_count()} cores; {platform.system()}; Python {platform.python_version()},"
        f" NumPy {np.__version__}, morula {mo.__version__}"
    )


def markdown(rows: Table) -> str:
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = [
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + " |" for row in rows
    ]
    return "\n".join([lines[0], "|" + "|".join("-" * (width + 2) for width in widths) + "|", *lines[1:]])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="three repeats, and no file written")
    quick = parser.parse_args().quick
    repeats = 3 if quick else 9
    report = [f"# Eager gradients, {date.today()}", machine()]
    for title, table in (
        (f"Scalar loop of sin, multiply, add, {ITERATIONS:,} iterations; forward and backward", scalars),
        ("Vectors of 1,000", vectors),
        ("Filling an array element by element; forward and backward", filling),
        ("Jacobian of 20,000 residuals in 2 parameters, and the fit", tall),
        ("Starting, in a fresh interpreter", starting),
    ):
        print(f"{title} ...", file=sys.stderr)
        report += [f"## {title}", markdown(table(repeats))]
    text = "\n\n".join(report) + "\n"
    print(text)
    if not quick:
        path = HERE / "results" / f"eager-{date.today()}.md"
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        print(f"written: {path}")


if __name__ == "__main__":
    main()
