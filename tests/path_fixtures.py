"""Fixtures for the paths of a program; a test that uses one of them runs on each path."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from path_tester import PATHS, check_gradient, check_value


@pytest.fixture(params=PATHS)
def path(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture(params=[p for p in PATHS if p != "eager"])
def target(request: pytest.FixtureRequest) -> str:
    """A path that compiles."""
    return request.param


@pytest.fixture
def check(path: str) -> Callable[..., tuple[Any, ...]]:
    """Value, effects and gradient of a program with a number as its result."""
    return partial(check_gradient, path)


@pytest.fixture
def value(path: str) -> Callable[..., Any]:
    """Value and effects of a program with any result."""
    return partial(check_value, path)
