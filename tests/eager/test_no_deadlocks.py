"""Threads that differentiate and compile for the first time, wait for objects and run ``__del__`` never wait for each other."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.parametrize("interval, begin", [(1e-6, "warm"), (5e-3, "warm"), (1e-6, "cold")])
def test_no_deadlock(interval, begin):
    script = [sys.executable, str(Path(__file__).with_name("contending_threads.py")), "240", str(interval), "2", begin]
    run = subprocess.run(script, capture_output=True, text=True, check=False)
    assert run.returncode == 0 and run.stdout.startswith("done"), run.stdout + run.stderr[-6000:]
