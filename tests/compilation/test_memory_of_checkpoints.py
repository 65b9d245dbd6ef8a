"""The memory of checkpointed loops, measured for whole processes: budgets are kept, and ``explain`` predicts the peak."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

import morula as mo

RETURNED = {**os.environ, "MALLOC_MMAP_THRESHOLD_": str(2**17)}
PROGRAM = Path(__file__).resolve().parents[1] / "memory_program.py"
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads the memory of a process from /proc")


def measured(path, given):
    """The bytes by which the resident memory of a process rises in a gradient of 200 steps, and what ``explain`` says.

    Freed memory goes back to the system at once, so that what was allocated before is not taken for free.
    """
    command = [sys.executable, str(PROGRAM), path, json.dumps(given)]
    run = subprocess.run(command, capture_output=True, text=True, check=False, env=RETURNED)
    assert not run.returncode, run.stderr
    return json.loads(run.stdout.splitlines()[-1])


@pytest.mark.parametrize(
    "path, given",
    [
        ("native", {"policy": "sqrt"}),
        ("native", {"memory": "60MB"}),
        ("native", {"memory": "15MB"}),
        ("xla", {"memory": "60MB"}),
        ("native", {"program": "nested", "memory": "60MB"}),
        ("xla", {"program": "nested", "policy": "sqrt"}),
        ("eager", {"memory": "60MB"}),
        ("eager", {"memory": "20MB"}),
    ],
)
def test_explain_predicts_the_peak(path, given):
    peak, text = measured(path, given)
    number, unit = text.partition("about ")[2].split()[:2]
    assert unit == "MB"
    assert 0.75e6 * float(number) < peak < 1.25e6 * float(number)
    if "memory" in given:
        assert peak < 1.1e6 * float(given["memory"].removesuffix("MB"))


@pytest.mark.parametrize("path, most", [("native", 40e6), ("eager", 250e6)])
def test_chunks_that_write_local_arrays_save_memory(path, most):
    """200 steps kept in full take 144 MB in native code, and over a gigabyte on a tape."""
    assert measured(path, {"program": "chunks"})[0] < most


def iterated(x):
    for _ in range(100):
        x = np.sin(x)
    return np.sum(x)


@pytest.mark.parametrize("path", ["eager", "native", "xla"])
def test_a_state_that_the_adjoint_reads_counts_for_each_iteration(path):
    """The adjoint of an iteration reads the state before it, and nothing else."""
    g = mo.grad(lambda x: mo.checkpoint(iterated, x, memory="2.5MB"))
    x = np.full(10_000, 0.5)
    if path == "eager":
        text = g.explain(x)
        tracemalloc.start()
        try:
            g(x)
            assert tracemalloc.get_traced_memory()[1] < 2.5e6
        finally:
            tracemalloc.stop()
    else:
        text = mo.jit(g, target=path).explain(x)
    assert "everything is stored" not in text and "snapshots of 80 kB" in text
