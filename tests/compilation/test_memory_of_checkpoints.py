"""The memory of checkpointed loops, measured for whole processes: budgets are kept, and ``explain`` predicts the peak."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = Path(__file__).resolve().parents[1] / "memory_program.py"
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads the memory of a process from /proc")


def measured(path, given):
    """The bytes by which the resident memory of a process rises in a gradient of 200 steps, and what ``explain`` says."""
    command = [sys.executable, str(PROGRAM), path, json.dumps(given)]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert not run.returncode, run.stderr
    return json.loads(run.stdout.splitlines()[-1])


@pytest.mark.parametrize(
    "path, given",
    [
        ("native", {"policy": "sqrt"}),
        ("native", {"memory": "60MB"}),
        ("native", {"memory": "15MB"}),
        ("xla", {"memory": "60MB"}),
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
    assert measured(path, "chunks")[0] < most
