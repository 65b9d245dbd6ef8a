"""Freed memory is kept: arrays that are made again and again are not paged in anew."""

from __future__ import annotations

import os
import platform
import subprocess
import sys

import pytest

COUNT = """
import resource
import numpy as np
{first}
def faults():
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt
def work():
    for _ in range(20):
        arrays = [np.full(250_000, 1.0) for _ in range(4)]
work()
before = faults()
work()
print(faults() - before)
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="other allocators have limits of their own")
def test_arrays_of_the_same_size_are_not_paged_in_anew():
    """80 arrays of 2 MB are 39,000 pages of 4 kB: without the larger limit, those that lie highest are returned each time."""
    unset = {name: value for name, value in os.environ.items() if not name.startswith("MALLOC_")}

    def counted(first: str) -> int:
        run = subprocess.run(
            [sys.executable, "-c", COUNT.format(first=first)], env=unset, capture_output=True, text=True, check=True
        )
        return int(run.stdout)

    assert counted("import morula; morula.grad") < 2_000 < 10_000 < counted("")
