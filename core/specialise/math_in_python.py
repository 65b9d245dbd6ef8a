"""Functions of ``math`` as Python functions, which the interpreter reads where their arguments are traced."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any


def factorial(n: Any, /) -> int:
    n = operator.index(n)
    if n < 0:
        raise ValueError("factorial() not defined for negative values")
    found = 1
    for i in range(2, n + 1):
        found *= i
    return found


def _counts(n: Any, k: Any) -> tuple[int, int]:
    n, k = operator.index(n), operator.index(k)
    if n < 0:
        raise ValueError("n must be a non-negative integer")
    if k < 0:
        raise ValueError("k must be a non-negative integer")
    return n, k


def perm(n: Any, k: Any = None, /) -> int:
    if k is None:
        return math.factorial(n)
    n, k = _counts(n, k)
    found = 1
    if k > n:
        found = 0
    else:
        for i in range(k):
            found *= n - i
    return found


def comb(n: Any, k: Any, /) -> int:
    n, k = _counts(n, k)
    found = 1
    if k > n:
        found = 0
    else:
        for i in range(min(k, n - k)):
            common = math.gcd(found, i + 1)  # so that no product is larger than the result
            found = found // common * ((n - i) // ((i + 1) // common))
    return found


def isqrt(n: Any, /) -> int:
    n = operator.index(n)
    if n < 0:
        raise ValueError("isqrt() argument must be nonnegative")
    root = int(math.sqrt(n))  # 53 bits: at most one too large or too small
    if root > 0 and root > n // root:
        root -= 1
    elif root + 1 <= n // (root + 1):
        root += 1
    return root


DEFINITIONS: dict[Any, Callable[..., Any]] = {getattr(math, f.__name__): f for f in (factorial, perm, comb, isqrt)}
