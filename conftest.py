"""Imports the library before the doctests are collected: pytest makes second copies of modules that nothing has imported."""

import morula.core.api
import morula.linalg
import morula.ode
import morula.optim  # noqa: F401
