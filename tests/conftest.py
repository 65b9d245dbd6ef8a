"""Shared fixtures: reproducible random examples and a seeded generator."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Iterator
from typing import Any

# The matrices of the tests are small, and the tests themselves run side by side: threads of the BLAS would only wait for
# each other.  It reads this when NumPy loads it; a value that the user has set is kept.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
# A test that fails shows the engine's frames too.
os.environ.setdefault("MORULA_TRACEBACK", "full")
# Programs are compiled anew, and the user's folder is left alone.
os.environ.setdefault("MORULA_CACHE", "0")
# XLA took nearly half of the time of the tests of compiled programs, most of it to optimise code that runs once.  What is tested is
# the program that it is given; `make test-paths` and `make test-random` run it with all of its optimisations.
os.environ.setdefault("JAX_DISABLE_MOST_OPTIMIZATIONS", "1")
# Its older emitters of loops take half the time of those that generate MLIR.
os.environ.setdefault("XLA_FLAGS", "--xla_cpu_use_fusion_emitters=false")

# Tests that compile make and drop many objects, few of them in cycles.
gc.set_threshold(50_000, 20, 20)

import numpy as np  # noqa: E402
import pytest  # noqa: E402
import tqdm  # noqa: E402
from hypothesis import settings  # noqa: E402

# A progress bar starts a thread, and the tests of locks would look at what it can reach.
tqdm.tqdm.monitor_interval = 0

# The same examples on every run, and no verdict that depends on how fast the machine is.
settings.register_profile("morula", derandomize=True, deadline=None, print_blob=True)
settings.load_profile("morula")


@pytest.fixture(autouse=True, scope="module")
def without_what_was_there_before() -> Iterator[None]:
    """Garbage collections leave alone what exists before a module's tests: imported modules, collected tests, caches.

    These are millions of objects, and going through them took a quarter of the time.
    """
    gc.collect()
    gc.freeze()
    yield


@pytest.fixture
def rng() -> np.random.Generator:
    """A generator with the same stream in every test."""
    return np.random.default_rng(20)


@pytest.fixture
def check() -> Callable[..., tuple[Any, ...]]:
    """One assertion that a program is differentiated as Python runs it."""
    from eager_tester import check_program

    return check_program
