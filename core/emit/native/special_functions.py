"""Ufuncs of scipy.special on one element: short ones as code that vectorises, others through SciPy's C functions."""

from __future__ import annotations

import math
import re
from functools import cache
from typing import Any

import numpy as np

from . import capsules
from .assembly import Code
from .elements import convert, literal, register
from .real_functions import OF_LIBRARIES, Emit, apply, c_function, composed

_F64 = np.dtype(np.float64)
_MODULE = "scipy.special.cython_special"


def _times_log(logarithm: np.ufunc) -> Emit:
    """Return an emitter of x log(y), which is 0 where x is 0 and y is not NaN."""

    def emit(code: Code, dtype: np.dtype, x: str, y: str) -> str:
        kind, zero = register(dtype), literal(0, dtype)
        product = apply(code, np.multiply, dtype, [x, apply(code, logarithm, dtype, [y])])
        none = code.value(f"fcmp oeq {kind} {x}, {zero}")
        number = code.value(f"fcmp ord {kind} {y}, {y}")
        test = code.value(f"and i1 {none}, {number}")
        return code.value(f"select i1 {test}, {kind} {zero}, {kind} {product}")

    return emit


def _entropy(code: Code, dtype: np.dtype, x: str) -> str:
    kind = register(dtype)
    positive = apply(code, np.negative, dtype, [_times_log(np.log)(code, dtype, x, x)])
    below = code.value(f"fcmp olt {kind} {x}, {literal(0, dtype)}")
    return code.value(f"select i1 {below}, {kind} {literal(-np.inf, dtype)}, {kind} {positive}")


def _logit(code: Code, dtype: np.dtype, x: str) -> str:
    def f(u: np.ufunc, *a: Any) -> str:
        return apply(code, u, dtype, [y if isinstance(y, str) else literal(y, dtype) for y in a])

    return f(np.log, f(np.divide, x, f(np.subtract, 1, x)))


_WRITTEN: dict[str, Emit] = {
    "erf": c_function("erf"),
    "erfc": c_function("erfc"),
    "expm1": c_function("expm1"),
    "log1p": c_function("log1p"),
    "cbrt": c_function("cbrt"),
    "exp2": c_function("exp2"),
    "expit": composed(lambda f, x: f(np.divide, 1, f(np.add, 1, f(np.exp, f(np.negative, x))))),
    "logit": _logit,
    "xlogy": _times_log(np.log),
    "xlog1py": _times_log(np.log1p),
    "entr": _entropy,
    "ndtr": lambda code, dtype, x: apply(
        code,
        np.multiply,
        dtype,
        [
            literal(0.5, dtype),
            c_function("erfc")(code, dtype, apply(code, np.multiply, dtype, [x, literal(-math.sqrt(0.5), dtype)])),
        ],
    ),
}


@cache
def special(function: Any, dtype: np.dtype) -> Emit | None:
    """Return the emitter of a ufunc of scipy.special for real numbers; None if native code has none."""
    import scipy.special

    name = function.__name__
    if dtype.char not in "fd" or function.nout != 1 or getattr(scipy.special, name, None) is not function:
        return None
    if name in _WRITTEN:
        return _WRITTEN[name]
    wanted = re.compile(rf"double \((double, ){{{function.nin}}}int __pyx_skip_dispatch\)")
    own = "psi" if name == "digamma" else name
    for prefix in ("", *(f"__pyx_fuse_{k}" for k in range(4))):
        symbol = (_MODULE, f"{prefix}{own}")
        if wanted.fullmatch(capsules.signature(symbol) or ""):
            return _c_function(symbol)
    return None


def _c_function(symbol: capsules.Symbol) -> Emit:
    def emit(code: Code, dtype: np.dtype, *x: str) -> str:
        name = f"scipy.{symbol[1]}"
        code.module.symbols[name] = symbol
        arguments = [("double", convert(code, a, dtype, _F64)) for a in x]
        return convert(code, code.call(name, "double", [*arguments, ("i32", "0")]), _F64, dtype)

    return emit


OF_LIBRARIES.append(special)
