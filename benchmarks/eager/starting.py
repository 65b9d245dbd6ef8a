"""Imports and first calls, each in a fresh interpreter."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from statistics import median

from ..report import Table

ROOT = Path(__file__).resolve().parents[2]


def in_a_fresh_interpreter(program: str, repeats: int) -> float:
    """The median of the number of seconds that ``program`` prints."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])}
    command = [sys.executable, "-c", f"from time import perf_counter as now\n{program}"]
    runs = [
        subprocess.run(command, env=environment, capture_output=True, text=True, check=True) for _ in range(repeats)
    ]
    return median(float(run.stdout) for run in runs)


def starting(repeats: int) -> Table:
    programs = "from benchmarks.eager.first_programs import square, thirty_lines\n"
    first = f"{programs}import morula as mo\n{{before}}t = now()\nmo.grad(thirty_lines)(0.7, 8)\nprint(now() - t)"
    timed = {
        "import numpy": "t = now()\nimport numpy\nprint(now() - t)",
        "import morula, over import numpy": "import numpy\nt = now()\nimport morula\nprint(now() - t)",
        "import morula and a first gradient, of x * x, over import numpy": (
            f"{programs}t = now()\nimport morula as mo\nmo.grad(square)(3.0)\nprint(now() - t)"
        ),
        "first gradient of a process, a 30-line function": first.format(before=""),
        "first gradient of a 30-line function, after another": first.format(before="mo.grad(square)(3.0)\n"),
    }
    rows = [["program", "ms"]]
    return rows + [[name, f"{in_a_fresh_interpreter(p, repeats) * 1e3:.1f}"] for name, p in timed.items()]
