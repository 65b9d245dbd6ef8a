"""The worked examples of the source papers run, and give the published figures."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
SCRIPTS = sorted(path for path in (ROOT / "paper").glob("*.py") if path.name != "figures.py")


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_the_script_prints_the_figures_of_its_source(script):
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run([sys.executable, str(script)], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "source" in done.stdout and "morula" in done.stdout


def test_a_figure_that_is_not_the_sources_fails_the_run():
    program = "from figures import compare; compare('t', ('x', (1, 2.0), (1, 2.0)), ('y', 1.0, 1.1))"
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT / "paper", capture_output=True, text=True)
    assert done.returncode == 1 and "not the source's figure: y" in done.stderr
