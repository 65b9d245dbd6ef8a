"""Rules of sums, products, moments, extrema, cumulative sums, differences and order statistics."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from rule_tester import check_rule

import morula as mo
from morula.core.rules import load
from morula.core.rules.methods import UFUNC_METHODS
from morula.core.rules.table import RULES, pull

load()

random = np.random.default_rng(3)
A = random.uniform(-2, 2, (2, 3))
B = random.uniform(-2, 2, (3, 2, 2))
Z = A + 1j * random.uniform(-2, 2, (2, 3))
V = random.uniform(0.5, 2, 5)
S = A.astype(np.float32)
SCALAR = 1.7
ZERO_D = np.array(0.7)
MASK = np.array([[True, False, True], [True, True, False]])
ONE_ZERO = np.array([[1.5, 0.0, -2.0], [0.7, 1.1, -0.4]])
TWO_ZEROS = np.array([0.0, 3.0, 0.0, 2.0])
NANS = np.array([[1.0, np.nan, 3.0], [0.5, -2.0, 2.5]])


def case(f: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    def show(x: Any) -> str:
        return f"{x.dtype}{list(x.shape)}" if isinstance(x, np.ndarray) else str(x)

    named = [f"{k}={show(v)}" for k, v in kwargs.items()]
    return pytest.param(f, args, kwargs, id=f"{f.__name__}({', '.join([*map(show, args), *named])})")


def over_axes(f: Callable[..., Any], x: np.ndarray, *args: Any, **kwargs: Any) -> list[Any]:
    """A reduction in every form that its axis and ``keepdims`` can take."""
    found = []
    for axis in (None, 0, -1, (0, -1), ()):
        for keepdims in (False, True):
            found.append(case(f, x, *args, axis=axis, keepdims=keepdims, **kwargs))
    return found


CASES = [
    *over_axes(np.sum, B),
    *over_axes(np.mean, B),
    *over_axes(np.prod, B),
    *over_axes(np.max, B),
    *over_axes(np.var, A),
    case(np.sum, SCALAR),
    case(np.sum, ZERO_D),
    case(np.sum, ZERO_D, axis=0),
    case(np.sum, Z, axis=0),
    case(np.sum, S, axis=1),
    case(np.sum, S, dtype=np.float64),
    case(np.sum, A, dtype=complex),
    case(np.sum, np.zeros((0, 3)), axis=0),
    case(np.sum, np.zeros((0, 3)), axis=1),
    case(np.sum, A, where=MASK),
    case(np.sum, A, 0, None, None, False, 2.5),
    case(np.sum, [1.0, 2.0]),
    case(np.sum, [[1.0, 2.0], [3.0, 4.0]], axis=0),
    case(np.mean, Z, axis=1),
    case(np.mean, S),
    case(np.mean, A, axis=1, where=MASK),
    case(np.mean, (1.0, 2.0)),
    case(np.prod, Z, axis=1),
    case(np.prod, S),
    case(np.prod, SCALAR),
    case(np.prod, A, where=MASK, axis=0),
    case(np.prod, A, 1, None, None, True, 1.5),
    case(np.prod, ONE_ZERO),
    case(np.prod, ONE_ZERO, axis=0),
    case(np.prod, ONE_ZERO, axis=1, keepdims=True),
    case(np.prod, ONE_ZERO, axis=(0, 1)),
    case(np.prod, ONE_ZERO, where=MASK, axis=1),
    case(np.prod, TWO_ZEROS),
    case(np.prod, TWO_ZEROS[:3] + 1j * TWO_ZEROS[:3]),
    case(np.prod, np.zeros((0, 2)), axis=0),
    case(np.average, A),
    case(np.average, A, axis=0),
    case(np.average, A, None, np.abs(A)),
    case(np.average, A, 1, np.array([0.2, 0.5, 0.9])),
    case(np.average, A, 0, np.array([0.2, 0.5]), keepdims=True),
    case(np.average, A, 0, np.array([0.2, 0.5]), returned=True),
    case(np.average, Z, 1, np.array([0.2, 0.5, 0.9])),
    case(np.average, B, (0, 1), random.uniform(1, 2, (3, 2))),
    case(np.average, B, (1, 0), random.uniform(1, 2, (2, 3))),
    case(np.var, B, axis=(0, 2), ddof=1),
    case(np.var, Z),
    case(np.var, Z, axis=0, keepdims=True),
    case(np.var, A, correction=1),
    case(np.var, A, where=MASK, axis=1),
    case(np.var, S, axis=1),
    case(np.std, A),
    case(np.std, B, axis=(0, -1), ddof=1, keepdims=True),
    case(np.std, Z, axis=1),
    case(np.std, A, where=MASK),
    case(np.std, S),
    case(np.max, ZERO_D),
    case(np.max, SCALAR),
    case(np.max, S, axis=1),
    case(np.max, A, axis=1, where=MASK, initial=-9.0),
    case(np.max, A, 0, None, False, 0.1),
    case(np.min, A),
    case(np.min, B, axis=(0, 1), keepdims=True),
    case(np.min, [3.0, 1.0, 2.0]),
    case(np.max, Z, axis=0),
    case(np.ptp, A),
    case(np.ptp, B, axis=1, keepdims=True),
    case(np.nansum, NANS),
    case(np.nansum, NANS, axis=1, keepdims=True),
    case(np.nanprod, NANS, axis=0),
    case(np.nanmean, NANS, axis=0),
    case(np.nanvar, NANS, axis=1, ddof=1),
    case(np.nanstd, NANS),
    case(np.nanmax, NANS, axis=0),
    case(np.nanmin, NANS, axis=1),
    case(np.nancumsum, NANS, axis=1),
    case(np.nancumprod, NANS, axis=1),
    case(np.cumsum, A),
    case(np.cumsum, B, axis=1),
    case(np.cumsum, Z, axis=-1),
    case(np.cumsum, SCALAR),
    case(np.cumsum, S, axis=0),
    case(np.cumsum, np.zeros(0)),
    case(np.cumprod, A),
    case(np.cumprod, B, axis=1),
    case(np.cumprod, Z, axis=-1),
    case(np.cumprod, ONE_ZERO, axis=1),
    case(np.cumprod, TWO_ZEROS),
    case(np.cumprod, TWO_ZEROS * (1 + 2j)),
    case(np.cumprod, ZERO_D),
    case(np.cumprod, np.zeros((2, 0)), axis=1),
    case(np.cumulative_sum, V),
    case(np.cumulative_sum, A, axis=1, include_initial=True),
    case(np.cumulative_prod, A, axis=-1, include_initial=True),
    case(np.diff, V),
    case(np.diff, V, 2),
    case(np.diff, V, 0),
    case(np.diff, B, axis=1),
    case(np.diff, A, 2, axis=-1),
    case(np.diff, Z, axis=0),
    case(np.ediff1d, A),
    case(np.ediff1d, V, np.array([1.0, 2.0]), 0.5),
    case(np.trapezoid, A),
    case(np.trapezoid, A, np.array([0.0, 0.3, 1.0])),
    case(np.trapezoid, A, np.sort(B.ravel()[:6].reshape(2, 3))),
    case(np.trapezoid, B, np.array([0.0, 0.3, 1.0]), axis=0),
    case(np.trapezoid, Z, None, 0.25),
    case(np.trace, A),
    case(np.trace, A, 1),
    case(np.trace, B, -1, 2, 0),
    case(np.trace, Z),
    case(np.linalg.trace, B),
    case(np.linalg.trace, B, offset=1),
    *(case(np.quantile, A, 0.37, method=m) for m in ("linear", "hazen", "weibull", "midpoint", "lower", "nearest")),
    *(case(np.quantile, V, 0.61, method=m) for m in ("median_unbiased", "interpolated_inverted_cdf", "inverted_cdf")),
    case(np.quantile, B, np.array([0.1, 0.9, 0.55]), axis=1),
    case(np.quantile, B, np.array([[0.1], [0.9]]), axis=(0, 2), keepdims=True),
    case(np.percentile, A, 30.0, axis=1),
    case(np.percentile, A, [20.0, 70.0], axis=0, keepdims=True),
    case(np.nanquantile, NANS, 0.4, axis=1),
    case(np.nanpercentile, NANS, [40.0, 70.0]),
    case(np.median, A),
    case(np.median, B, axis=(0, 1)),
    case(np.median, S, axis=0, keepdims=True),
    case(np.nanmedian, NANS, axis=1),
]

# The counts, axes and masks among the positional arguments are numbers to the tester; these are what has a derivative.
KNOWN = {np.average: (0, 2), np.diff: (0,), np.trace: (0,)}


@pytest.mark.parametrize(("f", "args", "kwargs"), CASES)
def test_the_cotangents_of_a_reduction_agree_with_differences(f, args, kwargs):
    known = tuple(i for i in KNOWN[f] if i < len(args) and args[i] is not None) if f in KNOWN else None
    if f is np.trapezoid:
        known = tuple(i for i, x in enumerate(args) if x is not None)
    check_rule(f, *args, known=known, **kwargs)


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("n", [1, 2])
def test_diff_differentiates_what_is_put_before_and_after(axis, n):
    check_rule(np.diff, A, n, axis, 0.3, A[:1] if axis == 0 else A[:, :1], known=(0, 3, 4))


@pytest.mark.parametrize("function", [np.max, np.min, np.nanmax, np.nanmin])
def test_equal_extrema_share_equally(function):
    x = np.array([2.0, 2.0, 2.0, 2.0])
    (g,) = pull(RULES[function], 1.0, function(x), (x,), {})
    assert g.tolist() == [0.25] * 4


def test_a_maximum_equal_to_its_initial_value_shares_with_it():
    x = np.array([1.0, 2.0])
    g, *_, g_initial = pull(RULES[np.max], 1.0, 2.0, (x, None, None, False, 2.0), {})
    assert g.tolist() == [0.0, 0.5]
    assert g_initial == 0.5


def test_the_maximum_with_a_nan_sends_its_cotangent_to_the_nan():
    x = np.array([1.0, np.nan, 2.0])
    (g,) = pull(RULES[np.max], 3.0, np.max(x), (x,), {})
    assert g.tolist() == [0.0, 3.0, 0.0]


def test_what_where_leaves_out_of_a_sum_gets_exactly_zero_even_for_an_infinite_cotangent():
    x = np.array([1.0, 2.0])
    (g,) = pull(RULES[np.sum], np.inf, 1.0, (x,), {"where": np.array([True, False])})
    assert g.tolist() == [np.inf, 0.0]


def test_the_standard_deviation_has_gradient_zero_where_it_is_zero():
    x = np.full(3, 2.0)
    (g,) = pull(RULES[np.std], 1.0, np.std(x), (x,), {})
    assert g.tolist() == [0.0, 0.0, 0.0]


def test_the_mean_and_the_maximum_of_single_precision_stay_in_single_precision():
    for function in (np.sum, np.mean, np.prod, np.max, np.var, np.std, np.cumsum, np.median):
        y = function(S)
        (g,) = pull(RULES[function], np.ones_like(y), y, (S,), {})
        assert g.dtype == np.float32


@pytest.mark.parametrize("key", UFUNC_METHODS, ids=lambda key: f"{key[0].__name__}.{key[1]}")
def test_a_method_of_a_ufunc_is_the_function_that_stands_for_it(key):
    ufunc, name = key
    x = np.abs(A) + 0.5
    args = (x, x[0]) if name == "outer" else (x, np.array([0, 1])) if name == "reduceat" else (x,)
    axis = {"axis": 0} if name in ("reduce", "accumulate") else {}
    np.testing.assert_allclose(UFUNC_METHODS[key](*args, **axis), getattr(ufunc, name)(*args))


def test_a_running_maximum_shares_among_equals_and_agrees_with_differences():
    running = UFUNC_METHODS[np.maximum, "accumulate"].func
    check_rule(running, np.maximum, np.array([0.3, 1.2, 0.4, 2.0]), known=(1,), order=0)
    check_rule(running, np.minimum, A, 1, known=(1,), order=0)
    x = np.array([1.0, 1.0])
    _, g = pull(RULES[running], np.array([0.0, 1.0]), x, (np.maximum, x), {})
    assert g.tolist() == [0.5, 0.5]


def test_segment_sums_send_their_cotangents_to_their_segments():
    check_rule(UFUNC_METHODS[np.add, "reduceat"], V, np.array([0, 3, 1, 4]), known=(0,))
    check_rule(UFUNC_METHODS[np.add, "reduceat"], B, np.array([0, 2]), 0, known=(0,))


@pytest.mark.parametrize(
    ("program", "args"),
    [
        (lambda x: np.add.reduce(x), (A,)),
        (lambda x: np.add.reduce(x, axis=1, keepdims=True), (A,)),
        (lambda x: np.add.reduce(x, axis=None), (A,)),
        (lambda x: np.multiply.reduce(x, 1), (A,)),
        (lambda x: np.maximum.reduce(x), (A,)),
        (lambda x: np.minimum.reduce(x, axis=(0, 1)), (A,)),
        (lambda x: np.add.accumulate(x), (A,)),
        (lambda x: np.multiply.accumulate(x, axis=1), (A,)),
        (lambda x: np.maximum.accumulate(x), (A,)),
        (lambda x: np.subtract.reduce(x), (V,)),
        (lambda x: np.logaddexp.reduce(x, axis=1), (A,)),
        (lambda x: np.hypot.accumulate(x), (V,)),
        (lambda x: np.add.reduceat(x, [0, 2]), (V,)),
        (lambda a, b: np.multiply.outer(a, b), (A, V)),
        (lambda a, b: np.subtract.outer(a, b), (1.5, V)),
        (lambda a, b: np.arctan2.outer(a, b), (V, A)),
    ],
)
def test_the_gradients_of_the_methods_of_ufuncs_agree_with_differences(program, args):
    mo.testing.check_gradients(program, *args)


@pytest.mark.parametrize(
    ("program", "args"),
    [
        (lambda x, w: np.average(x, weights=w), (V, V + 1)),
        (lambda x, w: np.average(x, axis=1, weights=w), (A, V[:3])),
        (lambda x, s: np.sum(x, initial=s), (V, 2.0)),
        (lambda x, s: np.prod(x, initial=s), (V, 2.0)),
        (lambda x, s: np.max(x, initial=s), (V, 9.0)),
        (lambda x, p: np.diff(x, prepend=p), (V, 2.0)),
        (lambda x, p: np.diff(x, append=p), (V, 2.0)),
        (lambda y, h: np.trapezoid(y, dx=h), (V, 0.2)),
        (lambda x, q: np.quantile(x, q=q, axis=0), (V, 0.3)),
        (lambda x, e: np.ediff1d(x, to_begin=e), (V, 0.3)),
    ],
)
def test_an_argument_given_by_name_gets_its_cotangent(program, args):
    mo.testing.check_gradients(program, *args)


@pytest.mark.parametrize("f", [np.prod, np.nanprod, np.cumprod, np.nancumprod], ids=lambda f: f.__name__)
def test_products_with_an_infinity_have_finite_slopes_where_the_others_are_finite(f):
    x = np.array([2.0, np.inf, 3.0])
    dy = np.array([1.0, 10.0, 100.0]) if f in (np.cumprod, np.nancumprod) else 1.0
    (g,) = mo.pullback(f, x)[1](dy)
    assert g.tolist() == [np.inf, 620.0 if np.ndim(dy) else 6.0, np.inf]


def test_a_quantile_at_an_element_has_the_slope_to_its_right():
    x = np.array([4.0, 1.0, 2.0])
    for q, slope in ((0.0, 2.0), (0.5, 4.0)):
        assert mo.gradient(lambda q: np.quantile(x, q), q) == (slope,)
        assert mo.gradient(lambda q: np.percentile(x, q), 100 * q) == (slope / 100,)
