"""Imports the library before the doctests are collected: pytest makes second copies of modules that nothing has imported."""

import sys
from pathlib import Path

import morula.core.api
import morula.linalg
import morula.ode
import morula.optim  # noqa: F401

sys.path.append(str(Path(__file__).parent / "docs"))  # scripts there share a module
