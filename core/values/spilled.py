"""Arrays that are held in a file instead of in memory.

A ``Spill`` appends copies of arrays to unnamed temporary files, which it maps into memory block by block. The pages of a
block are given back to the system after each use, so that they count for the file cache and not for the process. A
block's file is gone when the last array in it is.
"""

from __future__ import annotations

import mmap
import tempfile
from collections.abc import Iterator
from itertools import count
from typing import Any

import numpy as np

from ..errors import NoDerivative
from .memory import owner

BLOCK = 2**24
"""The least size of a block in bytes; each takes a file descriptor."""


class Spill:
    """Temporary files in a directory, by default that of ``tempfile``."""

    def __init__(self, directory: str | None = None) -> None:
        self.directory = directory
        self._block: mmap.mmap | None = None
        self._end = 0

    def __reduce__(self) -> Any:
        return Spill, (self.directory,)

    def copy(self, x: np.ndarray) -> np.ndarray:
        """Return a C-contiguous copy of an array whose memory is a file."""
        if not x.nbytes:
            return np.array(x)
        if self._block is None or self._end + x.nbytes > len(self._block):
            self._block = self._new_block(max(BLOCK, x.nbytes))
            self._end = 0
        held = np.frombuffer(self._block, x.dtype, x.size, self._end).reshape(x.shape)
        held[...] = x
        self._end += -(-x.nbytes // mmap.PAGESIZE) * mmap.PAGESIZE
        release(held)
        return held

    def _new_block(self, size: int) -> mmap.mmap:
        with tempfile.TemporaryFile(dir=self.directory, prefix="morula-") as file:
            file.truncate(size)
            return mmap.mmap(file.fileno(), size)


def load(held: np.ndarray) -> np.ndarray:
    """Return a copy in memory of an array that ``Spill.copy`` has returned."""
    x = np.array(held)
    release(held)
    return x


def release(held: np.ndarray) -> None:
    """Give back the pages of the block of an array; their contents stay in the file."""
    block = owner(held)
    if isinstance(block, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED"):
        block.madvise(mmap.MADV_DONTNEED)


class Spilled:
    """Stands for an array that is held in a file."""

    __slots__ = ("held",)

    def __init__(self, spill: Spill, x: np.ndarray) -> None:
        self.held = spill.copy(x)

    def load(self) -> np.ndarray:
        return load(self.held)

    def equals(self, x: Any) -> bool:
        """Whether an array holds the same; NaNs count as equal."""
        same = np.array_equal(self.held, x, equal_nan=self.held.dtype.kind in "fc")
        release(self.held)
        return same


class Offloaded:
    """Chains of states in files, each state known by a number: what compiled programs call.

    A number is a float, whose dependence on the states a transform can follow. Two sweeps may use it at once, also in threads: each state leads to the one before it in its own chain.
    """

    def __init__(self, directory: str | None) -> None:
        self.spill = Spill(directory)
        self._numbers: Iterator[int] = count()
        self._held: dict[int, tuple[Any, ...]] = {}

    def __reduce__(self) -> Any:
        return Offloaded, (self.spill.directory,)

    def put(self, before: Any, *state: Any) -> np.float64:
        """Hold a state, and return its number; ``before`` is that of the one before it, or -1."""
        number = next(self._numbers)
        self._held[number] = (np.float64(before), *map(self.spill.copy, map(np.asarray, state)))
        return np.float64(number)

    def take(self, number: Any) -> tuple[Any, ...]:
        """Return the number of the state before, and a state, and drop it.

        Raises:
            NoDerivative: the state has been dropped.
        """
        held = self._held.pop(int(number), None)
        if held is None:
            raise NoDerivative(
                "the states of a loop that checkpoint has offloaded are dropped when its derivative has used them, and this "
                "program uses them again; choose another policy, or compute the derivatives one by one"
            )
        before, *state = held
        return before, *map(load, state)
