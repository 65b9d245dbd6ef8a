"""What every test shares: reproducible random examples, and a seeded generator."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import settings

# The same examples on every run, and no verdict that depends on how fast the machine is.
settings.register_profile("morula", derandomize=True, deadline=None, print_blob=True)
settings.load_profile("morula")


@pytest.fixture
def rng() -> np.random.Generator:
    """A generator with the same stream in every test."""
    return np.random.default_rng(20)
