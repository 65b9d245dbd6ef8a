"""NumPy's ufuncs: JAX's functions of the same name, and own versions where those do not give NumPy's results."""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import reduce
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from ...ir.dynamic import Operation
from ...ir.powers import is_product
from .lengths import aligned
from .lower import Walk, lowers

UFUNCS: dict[np.ufunc, Callable[..., Any]] = {}
"""For each ufunc, a function of JAX arrays with the dtypes of the ufunc's loop and shapes that broadcast."""


def apply_ufunc(ufunc: np.ufunc, *operands: Any) -> Any:
    """Return a ufunc of arrays that have the dtypes of its loop."""
    return UFUNCS[ufunc](*map(jnp.asarray, operands))


def _lower(walk: Walk, op: Operation, *operands: Any) -> Any:
    result = op.results[0].type
    found = UFUNCS[op.callee](*(jnp.asarray(aligned(x, v.type, result)) for x, v in zip(operands, op.operands)))
    several = isinstance(found, (tuple, list))
    made = [jnp.broadcast_to(x, result.bounds) for x in (found if several else [found])]
    return made if several else made[0]


def computes(
    *ufuncs: np.ufunc, when: Callable[[Operation], bool] | None = None
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register a function that computes ufuncs; ``when``: a test for the calls that it supports."""

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        UFUNCS.update(dict.fromkeys(ufuncs, function))
        lowers(*ufuncs, when=when)(_lower)
        return function

    return register


for _name in (
    "add subtract multiply negative positive absolute fabs rint floor ceil trunc sqrt cbrt square exp exp2 expm1 log log2 "
    "log10 log1p sin cos tan arcsin arccos arctan sinh cosh tanh arcsinh arccosh arctanh arctan2 hypot degrees radians "
    "deg2rad rad2deg logaddexp logaddexp2 heaviside copysign nextafter signbit isnan isinf isfinite equal not_equal "
    "less less_equal greater greater_equal logical_and logical_or logical_xor logical_not bitwise_and bitwise_or "
    "bitwise_xor invert conjugate frexp ldexp fmin fmax maximum minimum true_divide "
    "float_power bitwise_count left_shift right_shift"
).split():
    computes(getattr(np, _name))(getattr(jnp, _name))


def _is_complex(x: Any) -> bool:
    return x.dtype.kind == "c"


def _is_integer(x: Any) -> bool:
    return x.dtype.kind in "iu"


# ---- division: whole numbers divided by zero give zero


def _nonzero(b: Any) -> Any:
    return jnp.where(b == 0, jnp.ones_like(b), b)


@computes(np.floor_divide)
def floor_divide(a: Any, b: Any) -> Any:
    return divmod_(a, b)[0]


@computes(np.remainder)
def remainder(a: Any, b: Any) -> Any:
    return divmod_(a, b)[1]


@computes(np.divmod)
def divmod_(a: Any, b: Any) -> tuple[Any, Any]:
    """Return the quotient rounded down and the remainder, which has the sign of b; as npy_divmod."""
    a, b = jnp.broadcast_arrays(a, b)
    if _is_integer(a):
        divisor = _nonzero(b)
        quotient, rest = lax.div(a, divisor), lax.rem(a, divisor)
        if a.dtype.kind == "i":
            off = (rest != 0) & ((rest < 0) != (divisor < 0))
            quotient, rest = jnp.where(off, quotient - 1, quotient), jnp.where(off, rest + divisor, rest)
        zero = jnp.zeros_like(a)
        return jnp.where(b == 0, zero, quotient), jnp.where(b == 0, zero, rest)
    rest = lax.rem(a, b)
    quotient = (a - rest) / b
    off = (rest != 0) & ((rest < 0) != (b < 0))
    quotient = jnp.where(off, quotient - 1, quotient)
    rest = jnp.where(rest == 0, jnp.copysign(jnp.zeros_like(rest), b), jnp.where(off, rest + b, rest))
    down = jnp.floor(quotient)
    down = jnp.where(quotient - down > 0.5, down + 1, down)
    down = jnp.where(quotient == 0, jnp.copysign(jnp.zeros_like(down), a / b), down)
    return jnp.where(b == 0, a / b, down), jnp.where(b == 0, lax.rem(a, b), rest)


@computes(np.fmod)
def fmod(a: Any, b: Any) -> Any:
    if not _is_integer(a):
        return lax.rem(*jnp.broadcast_arrays(a, b))
    a, b = jnp.broadcast_arrays(a, b)
    return jnp.where(b == 0, jnp.zeros_like(a), lax.rem(a, _nonzero(b)))


@computes(np.reciprocal)
def reciprocal(x: Any) -> Any:
    """Return 1 / x. As NumPy for integers: 1 and -1 for themselves, C's conversion of infinity for 0, else 0."""
    if not _is_integer(x):
        return 1 / x
    of_zero = np.iinfo(x.dtype).min if x.dtype.itemsize >= 4 else 0
    own = (x == 1) if x.dtype.kind == "u" else (x == 1) | (x == -1)
    return jnp.where(x == 0, jnp.asarray(of_zero, x.dtype), jnp.where(own, x, jnp.zeros_like(x)))


# ---- powers


@computes(np.power, np.float_power)
def power(a: Any, b: Any) -> Any:
    a, b = jnp.broadcast_arrays(a, b)
    if _is_integer(a):
        return _whole_power(a, b, a.dtype.itemsize * 8)  # a check has refused negative exponents, as NumPy does
    if not _is_complex(a):
        return lax.pow(a, b)
    # As npy_cpow: small integer exponents by squaring; zero to a power with a positive real part is zero.
    whole = (b.imag == 0) & (b.real == jnp.round(b.real)) & (jnp.abs(b.real) < 100)
    n = jnp.where(whole, b.real, 0).astype(np.int32)
    squared = _whole_power(a, jnp.abs(n), 7)
    exact = jnp.where(n < 0, 1 / squared, squared)
    safe = jnp.where(a == 0, jnp.ones_like(a), a)
    of_zero = jnp.where(b.real > 0, jnp.zeros_like(a), jnp.full_like(a, complex(np.nan, np.nan)))
    of_zero = jnp.where(b == 0, jnp.ones_like(a), of_zero)
    return jnp.where(a == 0, of_zero, jnp.where(whole, exact, lax.pow(safe, b)))


@lowers(np.power, np.float_power)
def _power(walk: Walk, op: Operation, a: Any, b: Any) -> Any:
    result, exponent = op.results[0].type, op.operands[1]
    if result.dtype.kind != "f" or not exponent.is_constant or exponent.type.shape or not is_product(float(b)):
        return _lower(walk, op, a, b)
    a, exponent = jnp.asarray(aligned(a, op.operands[0].type, result)), float(b)
    return jnp.broadcast_to(_product(a, exponent), result.bounds)


def _product(a: Any, exponent: float) -> Any:
    """Return a power with a small exponent as products and, for half-integers, a root: a tenth of the time of ``lax.pow``."""
    whole = int(abs(exponent))
    # Both zeros, and both infinities, have one power with a half-integer; NumPy takes the root for 0.5.
    if exponent not in (0.5, int(exponent)):
        a = jnp.where(a == 0, jnp.zeros_like(a), jnp.where(a == -jnp.inf, jnp.full_like(a, jnp.inf), a))
    factors = [lax.integer_pow(a, whole)] if whole else []
    factors += [jnp.sqrt(a)] if exponent != int(exponent) else []
    found = reduce(operator.mul, factors) if factors else jnp.ones_like(a)
    return found if exponent >= 0 else 1 / found


def _whole_power(a: Any, n: Any, bits: int) -> Any:
    """Return a**n by repeated squaring; n has at most ``bits`` bits."""
    result = jnp.ones_like(a)
    for _ in range(bits):
        result = jnp.where(n & 1 == 1, result * a, result)
        a, n = a * a, lax.shift_right_logical(n, jnp.ones_like(n))
    return result


# ---- parts of floating-point numbers


@computes(np.sign)
def sign(x: Any) -> Any:
    return jnp.where(x == 0, jnp.zeros_like(x), jnp.sign(x))  # the sign of -0 is 0, not -0


@computes(np.modf)
def modf(x: Any) -> tuple[Any, Any]:
    whole = jnp.trunc(x)
    part = jnp.where(jnp.isinf(x), jnp.zeros_like(x), x - whole)
    return jnp.copysign(part, x), whole


@computes(np.spacing)
def spacing(x: Any) -> Any:
    return jnp.where(x == 0, jnp.spacing(jnp.zeros_like(x)), jnp.spacing(x))


# ---- whole numbers


@computes(np.gcd)
def gcd(a: Any, b: Any) -> Any:
    a, b = jnp.broadcast_arrays(a, b)
    return _magnitude_gcd(_magnitude(a), _magnitude(b)).astype(a.dtype)


@computes(np.lcm)
def lcm(a: Any, b: Any) -> Any:
    dtype = a.dtype
    a, b = jnp.broadcast_arrays(_magnitude(a), _magnitude(b))
    return (floor_divide(a, _magnitude_gcd(a, b)) * b).astype(dtype)


def _magnitude(x: Any) -> Any:
    """Return the absolute value as an unsigned integer: that of the smallest signed integer is not representable."""
    return jnp.abs(x).astype(np.dtype(f"u{x.dtype.itemsize}"))


def _magnitude_gcd(a: Any, b: Any) -> Any:
    """Return the gcd by Euclid's algorithm, iterated on all elements until the last is finished."""
    return lax.while_loop(
        lambda state: jnp.any(state[1] != 0),
        lambda state: (jnp.where(state[1] == 0, state[0], state[1]), remainder(*state)),
        (a, b),
    )[0]
