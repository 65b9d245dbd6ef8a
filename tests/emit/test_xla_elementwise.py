"""XLA gives NumPy's results for every ufunc and dtype, also at extreme arguments."""

from __future__ import annotations

import numpy as np
import pytest

jax = pytest.importorskip("jax")

from morula.core.emit.xla import compile_function  # noqa: E402
from morula.core.emit.xla.elementwise import UFUNCS  # noqa: E402
from morula.core.errors import BadInput  # noqa: E402
from morula.core.ir.builder import Builder, loop_of  # noqa: E402
from morula.core.ir.dynamic import Function, Value, verify  # noqa: E402
from morula.core.ir.typed import ArrayType  # noqa: E402

UFUNCS_OF_NUMPY = sorted((u for u in UFUNCS if getattr(np, u.__name__, None) is u), key=lambda u: u.__name__)
DTYPES = [np.dtype(c) for c in "?bhilBHILfdFD"]


def samples(dtype: np.dtype) -> np.ndarray:
    """Ordinary numbers and those at the ends of a dtype."""
    if dtype.kind == "b":
        return np.array([False, True])
    if dtype.kind in "iu":
        ends = np.iinfo(dtype)
        return np.array([0, 1, 2, 3, 7, 50, ends.max, ends.min, *([-1, -2, -7] if dtype.kind == "i" else [])], dtype)
    plain = [0.0, -0.0, 0.5, -0.5, 1.0, -1.0, 1.5, 2.5, -2.5, 3.25, -7.75, 20.0, np.inf, -np.inf, np.nan, 1e-30, 1e30]
    if dtype.kind == "f":
        return np.array(plain, dtype)
    return np.array([0, 1, 1j, -1, -1j, 1 + 1j, 0.5 - 2j, -3 + 0.25j, 2 + 3j, -0.1 - 0.2j], dtype)


def pairs(*arrays: np.ndarray) -> list[np.ndarray]:
    """Every combination, along one dimension."""
    return [x.ravel() for x in np.meshgrid(*arrays, indexing="ij")]


def program(ufunc: np.ufunc) -> tuple[Function, list[np.ndarray], list[np.ndarray]]:
    """All loops of a ufunc in one function, its arguments, and what NumPy makes of them."""
    builder, parameters, results, arguments, expected = Builder(), [], [], [], []
    with builder.block() as block:
        for dtype in DTYPES:
            asked = [dtype] * ufunc.nin
            if ufunc in (np.ldexp,):
                asked[1] = np.dtype(np.int32)
            try:
                dtypes, found = loop_of(ufunc, tuple(asked))
            except BadInput:
                continue
            if any(d.char in "egO" for d in (*dtypes, *found)):
                continue
            xs = pairs(*map(samples, dtypes))
            if ufunc is np.power and dtypes[0].kind in "iu":
                xs = [x[xs[1] >= 0] for x in xs]
            if ufunc is np.reciprocal and dtypes[0].kind in "iu":
                xs = [x[x != 0] for x in xs]  # what 1 / 0 gives there is up to the processor
            values = [Value(f"x{len(parameters)}", ArrayType(x.dtype, x.shape)) for x in xs]
            parameters += values
            made = builder.ufunc(ufunc, *values)
            results += made if isinstance(made, list) else [made]
            arguments += xs
            with np.errstate(all="ignore"):
                numpys = ufunc(*xs)
            expected += numpys if isinstance(numpys, tuple) else [numpys]
        block.results = results
    return verify(Function(ufunc.__name__, parameters, block)), arguments, expected


@pytest.mark.parametrize("ufunc", UFUNCS_OF_NUMPY, ids=lambda u: u.__name__)
def test_a_ufunc_gives_numpys_results_in_every_dtype(ufunc):
    function, arguments, expected = program(ufunc)
    for found, wanted in zip(compile_function(function)(arguments), expected, strict=True):
        assert found.dtype == wanted.dtype
        if wanted.dtype.kind in "biu":
            np.testing.assert_array_equal(found, wanted)
        else:
            number = np.finfo(wanted.dtype)
            near_zero = number.eps if ufunc in (np.logaddexp, np.logaddexp2) else 10 * number.smallest_subnormal
            np.testing.assert_allclose(found, wanted, rtol=20 * number.eps, atol=near_zero)
            if wanted.dtype.kind == "f" and ufunc not in (np.maximum, np.minimum, np.logaddexp2):
                # Which of two equal zeros is the larger one, NumPy leaves to the processor.
                number = ~np.isnan(wanted)
                np.testing.assert_array_equal(np.signbit(found[number]), np.signbit(wanted[number]))
