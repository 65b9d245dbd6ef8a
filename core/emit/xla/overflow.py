"""Detection of results of Python ints out of the range of int64, computed from the wrapped results."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np

from ...ir.dynamic import Operation
from ...ir.typed import overflows
from .lower import Walk, lowers


def _sum(a: Any, b: Any) -> Any:
    """A sum overflows if both operands have one sign and the wrapped result has the other."""
    wrapped = a + b
    return ((a ^ wrapped) & (b ^ wrapped)) < 0


def _difference(a: Any, b: Any) -> Any:
    return ((a ^ b) & (a ^ (a - b))) < 0


def _product(a: Any, b: Any) -> Any:
    """A wrapped product differs by a multiple of 2**64 from the float product, whose rounding error is far smaller."""
    exact = a.astype(np.float64) * b.astype(np.float64)
    return jnp.abs((a * b).astype(np.float64) - exact) > 2.0**63


def _power(a: Any, b: Any) -> Any:
    """Repeated squaring with six bits of the exponent: 2**64 is already out of range."""
    bad = is_large = jnp.bool_(False)
    result, square = jnp.ones_like(a), a
    for bit in range(6):
        odd = (b >> bit) & 1 == 1
        bad |= odd & (is_large | _product(result, square))
        result = jnp.where(odd, result * square, result)
        is_large |= _product(square, square)
        square = square * square
    return jnp.where((a >= -1) & (a <= 1), False, bad | (b > 63))


_OVERFLOWS = {np.add: _sum, np.subtract: _difference, np.multiply: _product, np.power: _power}


@lowers(overflows)
def _overflows(walk: Walk, op: Operation, a: Any, b: Any, function: Any) -> Any:
    return _OVERFLOWS[function](jnp.asarray(a), jnp.asarray(b))
