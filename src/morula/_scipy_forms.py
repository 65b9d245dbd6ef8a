"""Forms of SciPy's functions for compiled programs that the packages have, and ``core`` cannot know.

It is loaded once a program has imported SciPy's module; a package, once the function is compiled.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse.linalg import expm_multiply

from .core.compilation.back_end_forms import lowering


def expm_multiply_by_stages(
    A: Any, B: Any, start: Any = None, stop: Any = None, num: Any = None, endpoint: Any = None, traceA: Any = None
) -> Any:
    """SciPy draws random vectors to estimate norms of powers, from which it chooses degrees; this takes norms and fixed degrees.

    The trace saves work, and does not change the result.
    """
    from .linalg.functions import expm_multiply as multiply

    if len(A.shape) != 2 or A.shape[0] != A.shape[1]:
        raise ValueError("expected A to be like a square matrix")
    if A.shape[1] != B.shape[0]:
        raise ValueError(f"shapes of matrices A {A.shape} and B {B.shape} are incompatible")
    if start is None and stop is None and num is None and endpoint is None:
        return multiply(A, B)
    ends: Any = start, stop
    times, step = np.linspace(ends[0], ends[1], 50 if num is None else num, endpoint is not False, retstep=True)
    if len(times) < 2:
        raise ValueError("at least two time points are required")
    found = np.zeros((len(times), *B.shape), np.result_type(A.dtype, B.dtype, float))
    found[0] = multiply(A, B, times[0])
    for k in range(1, len(times)):
        found[k] = multiply(A, found[k - 1], step)
    return found


for _target in ("native", "xla"):
    lowering(expm_multiply, _target)(expm_multiply_by_stages)
