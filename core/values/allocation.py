"""Freed memory is kept for the next array.

A derivative makes and frees many arrays of the same sizes. At first, glibc returns each of some 128 kB or more to the system when it is
freed, and the next one is paged in anew, which can take longer than the arithmetic: without this, the gradient of a Cholesky
factorisation of 512 rows takes 1.4 times as long. When a larger array is freed, glibc raises the limit to its size, up to 32 MB, and keeps
twice as much; one such array, of which no page is touched, has that effect at once. Limits that the user has set stay as
they are; other allocators are not concerned.

Source: mallopt(3), "Dynamic adjustment of the mmap threshold".
"""

from __future__ import annotations

import numpy as np

LIMIT = 32 * 2**20
"""The largest block, in bytes, that raises glibc's limit on systems of 64 bits (DEFAULT_MMAP_THRESHOLD_MAX)."""


def keep_freed_memory() -> None:
    """Raise the limit to nearly the largest.

    >>> keep_freed_memory()
    """
    np.empty(LIMIT - 2**16, np.uint8)
