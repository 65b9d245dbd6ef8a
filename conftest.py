"""Imports what doctests import, before they are collected: pytest makes second copies of modules that nothing has imported."""

import importlib.util
import sys
from pathlib import Path

import morula.core.api
import morula.linalg
import morula.ode
import morula.optim  # noqa: F401

# The scripts in docs share a module. Their folder is not put on the path: it has names of packages, such as coverage.
_spec = importlib.util.spec_from_file_location(
    "tried_operations", Path(__file__).parent / "docs" / "tried_operations.py"
)
assert _spec is not None and _spec.loader is not None
sys.modules["tried_operations"] = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(sys.modules["tried_operations"])
