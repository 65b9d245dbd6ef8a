"""SciPy's ufuncs: those that JAX computes to full accuracy everywhere, and some that are one line in terms of others.

The others, and all of them for complex numbers, run in Python (``host``): JAX's functions of the same name lose digits
(``betaln``, ``gammaincc``, ``owens_t``), differ at poles and infinities (``zeta``, ``poch``) or may not end (``exp1``).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import jax.scipy.special as jax_special
import numpy as np
import scipy.special

from ...ir.dynamic import Operation
from .elementwise import computes

_NAMES = "entr erf erfc erfcx erfinv expit gamma gammasgn i0 i0e i1 i1e logit ndtr ndtri spence dawsn".split()
_NAMES += ["boxcox", "boxcox1p", "xlogy", "xlog1py"]


def _is_real(op: Operation) -> bool:
    return all(v.type.dtype.char in "fd" for v in op.positional)


def _special(name: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    ufunc = getattr(scipy.special, name, None)
    return computes(ufunc, when=_is_real) if ufunc is not None else lambda function: function


for _name in _NAMES:
    _special(_name)(getattr(jax_special, _name))
for _name in ("exp2", "expm1", "log1p", "cbrt"):
    _special(_name)(getattr(jnp, _name))


@_special("psi")
def psi(x: Any) -> Any:
    return jnp.where(x == 0, jnp.copysign(jnp.full_like(x, np.inf), -x), jax_special.digamma(x))


@_special("gammaln")
def gammaln(x: Any) -> Any:
    return jnp.where(x == -np.inf, x, jax_special.gammaln(x))


@_special("log_ndtr")
def log_ndtr(x: Any) -> Any:
    """Return the logarithm of the normal distribution function; where that is near 1, from its complement."""
    return jnp.where(x > -1, jnp.log1p(-jax_special.ndtr(-x)), jax_special.log_ndtr(jnp.minimum(x, -1)))


@_special("log_expit")
def log_expit(x: Any) -> Any:
    return -jnp.logaddexp(jnp.zeros_like(x), -x)


@_special("exp10")
def exp10(x: Any) -> Any:
    return jnp.power(jnp.full_like(x, 10), x)


@_special("cosm1")
def cosm1(x: Any) -> Any:
    return -2 * jnp.sin(x / 2) ** 2


@_special("exprel")
def exprel(x: Any) -> Any:
    is_small = jnp.abs(x) < jnp.finfo(x.dtype).eps
    found = jnp.expm1(x) / jnp.where(is_small, jnp.ones_like(x), x)
    return jnp.where(is_small, jnp.ones_like(x), jnp.where(x > 717, jnp.full_like(x, np.inf), found))


@_special("rel_entr")
def rel_entr(x: Any, y: Any) -> Any:
    """Return x log(x / y), computed with log1p where x and y are close."""
    x, y = jnp.broadcast_arrays(x, y)
    positive = (x > 0) & (y > 0)
    a, b = jnp.where(positive, x, 1), jnp.where(positive, y, 1)
    ratio = a / b
    is_near = (0.5 < ratio) & (ratio < 2)
    is_normal = (jnp.finfo(x.dtype).tiny < ratio) & (ratio < np.inf)
    apart = jnp.where(is_normal, jnp.log(ratio), jnp.log(a) - jnp.log(b))
    found = a * jnp.where(is_near, jnp.log1p((a - b) / b), apart)
    limit = jnp.where((x == 0) & (y >= 0), jnp.zeros_like(x), jnp.full_like(x, np.inf))
    found = jnp.where(positive, found, limit)
    return jnp.where(jnp.isnan(x) | jnp.isnan(y), jnp.full_like(x, np.nan), found)


@_special("kl_div")
def kl_div(x: Any, y: Any) -> Any:
    x, y = jnp.broadcast_arrays(x, y)
    positive = (x > 0) & (y > 0)
    a, b = jnp.where(positive, x, 1), jnp.where(positive, y, 1)
    found = a * jnp.log(a / b) - a + b
    limit = jnp.where((x == 0) & (y >= 0), y, jnp.full_like(x, np.inf))
    found = jnp.where(positive, found, limit)
    return jnp.where(jnp.isnan(x) | jnp.isnan(y), jnp.full_like(x, np.nan), found)


@_special("huber")
def huber(delta: Any, r: Any) -> Any:
    size = jnp.abs(r)
    found = jnp.where(size <= delta, r * r / 2, delta * (size - delta / 2))
    return jnp.where(delta < 0, jnp.full_like(found, np.inf), found)
