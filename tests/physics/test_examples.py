"""The examples of the physics and ode packages run, reach their targets, and write their pictures."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def run(name, folder):
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "MPLBACKEND": "Agg"}
    command = [sys.executable, str(ROOT / "examples" / name)]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_orbit_design_hits_mars(tmp_path):
    text = run("orbit_design.py", tmp_path)
    misses = [float(m.replace(",", "")) for m in re.findall(r"^ +\d+ +\S+ +\S+ +([\d.,]+)$", text, re.MULTILINE)]
    assert misses[0] > 1e7 and misses[-1] < 0.01 and len(misses) < 8
    assert (tmp_path / "orbit_design.png").stat().st_size > 10_000


def test_pendulum_period_finds_gravity_and_length(tmp_path):
    text = run("pendulum_period.py", tmp_path)
    g, error = map(float, re.search(r"g = ([\d.]+) \+- ([\d.]+)", text).groups())
    length = float(re.search(r"length = ([\d.]+) m", text).group(1))
    assert abs(g - 9.8127) < 2 * error and abs(length - 0.8) < 0.002
    assert (tmp_path / "pendulum_period.png").stat().st_size > 10_000
