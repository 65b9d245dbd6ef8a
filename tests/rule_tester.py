"""One tester of derivative rules; the tests of the rules parametrise over cases and call it.

First the table alone, without an engine: the rule changes neither primal nor arguments; the cotangents agree with
extrapolated differences (and with the complex step where asked), are linear in the output's cotangent, vanish with it,
and have the shape and dtype of their arguments.  Then every path that needs no compiler, to the second order: the
recorded and the structured tier, and typed IR in the interpreter.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np
from interpreted import interpreted
from rule_paths import first_of, forward_over_reverse_of, is_structured, program_of, pushed_of, recorded, second_of
from strong_zero_tester import check_strong_zero

from morula.core.errors import BadInput, NoDerivative
from morula.core.rules.table import RULES, pull
from morula.core.testing import check_pullback, gradient_program
from morula.core.testing.differences import numeric_leaves, numerical_vjp, rebuild_numbers

OPTIONS = ("complex_step", "order", "rtol", "atol", "known")
ENGINE = find_spec("morula.core.api") is not None
REFUSED_IN_PART = {
    "": "gamma loggamma rgamma",  # ufuncs of SciPy: second derivatives of complex numbers
    "_operator": "getitem",
    "_statistics": "_normal_dist_inv_cdf",
    "math": "fma frexp modf remainder",
    "morula.core.rules.methods": "add_reduceat view",
    "numpy": "arange bincount compress delete extract histogram insert interp matmul nan_to_num nanpercentile "
    "nanquantile pad quantile real_if_close repeat unique unique_all unique_counts unique_inverse unique_values",
    "numpy.linalg": "eig eigvals norm",
    **dict.fromkeys(
        ("scipy.fft._pocketfft.pypocketfft", "scipy.fft._duccfft.pyduccfft"), "c2c c2r dct dst r2c r2r_fftpack"
    ),
    "scipy.linalg._basic": "solve_toeplitz solveh_banded",
    "scipy.linalg._decomp": "eig eigvals",
    "scipy.linalg._matfuncs": "fractional_matrix_power logm sqrtm",
    "scipy.linalg._special_matrices": "block_diag",
    "scipy.optimize._slsqplib": "nnls",
    "scipy.sparse._sparsetools": "dia_matmat get_csr_submatrix",
    "scipy.sparse.linalg._dsolve._superlu": "gssv",
    "scipy.special._logsumexp": "logsumexp",
    "scipy.special._multiufuncs": "assoc_legendre_p assoc_legendre_p_all legendre_p legendre_p_all sph_harm_y "
    "sph_harm_y_all sph_legendre_p sph_legendre_p_all",
    "statistics": "_mean_stdev harmonic_mean mean pstdev pvariance stdev variance",
}
"""Functions, by module, of which a form in these tests does not compile."""
OF_ANY_ORDER = {np.partition}
"""Functions whose results have no defined order: compiled programs sort them."""


def check_rule(
    f: Callable[..., Any],
    *args: Any,
    complex_step: bool | None = None,
    order: int = 2,
    rtol: float | None = None,
    atol: float | None = None,
    known: tuple[int, ...] | None = None,
    **kwargs: Any,
) -> None:
    """Prove the rule of ``f`` at ``args``.

    Args:
        f: a function in the table of rules.
        args: a point where ``f`` is differentiable.
        complex_step: also compare with the complex step, Im f(x + ih)/h, good to rounding; for analytic functions of
            real arguments that NumPy evaluates for complex ones.
        order: how many derivatives the engine checks; 0 leaves the engine out.
        rtol, atol: tolerances; by default 1e-7, or 2e-3 where anything is in single precision.
        known: the positions that have a derivative; by default, all of those that the rule does not leave out.
        kwargs: passed on to ``f``.
    """
    rule = RULES[f]
    single = any(getattr(x, "dtype", None) in (np.float32, np.complex64) for _, x in numeric_leaves(args))
    rtol = (2e-3 if single else 1e-7) if rtol is None else rtol
    atol = (2e-3 if single else 1e-7) if atol is None else atol
    random = np.random.default_rng(7)

    def table(dy: Any) -> list[Any]:
        return (pull(rule, dy, y, args, kwargs) + [None] * len(args))[: len(args)]

    with np.errstate(all="ignore"):
        y = f(*args, **kwargs)
        before = copy.deepcopy((y, args, kwargs))
        dy, another = cotangent(y, random), cotangent(y, random)
        gradients = table(dy)
        if known is None:
            known = tuple(i for i in range(len(args)) if gradients[i] is not None or not left_out(rule, i, args[i]))
        expected = {}
        for i in known:
            (expected[i],), _ = numerical_vjp(lambda x, i=i: f(*args[:i], x, *args[i + 1 :], **kwargs), dy, args[i])
            assert_close(gradients[i], expected[i], args[i], rtol, atol, f"{f}: cotangent of argument {i}")
        combined = table(_combine(lambda a, b: 2 * a - 3 * b, dy, another))
        for i, (g, h, both) in enumerate(zip(gradients, table(another), combined)):
            if g is not None:
                wanted = _combine(lambda a, b: 2 * a - 3 * b, g, h)
                assert_close(both, wanted, args[i], max(rtol, 1e-9), max(atol, 1e-9), f"{f}: not linear in dy")
        vanishing = table(_combine(lambda a, b: 0 * a, dy, dy))
        for g in [vanishing[i] for i in known]:
            assert all(np.all(np.asarray(x) == 0) for _, x in numeric_leaves(g)), f"{f}: a zero cotangent gives {g}"
        check_strong_zero(rule, y, dy, args, kwargs, known, max(rtol, 1e-9))
        _assert_same(before, (y, args, kwargs), f"the rule of {f} has changed its arguments")
        if complex_step:
            _check_complex_step(f, args, kwargs, gradients, dy, known)

        if ENGINE and order:
            second = _check_eager(f, args, kwargs, expected, dy, order, rtol, atol)
            _check_compiled(f, args, kwargs, expected, dy, second, rtol, atol)
            check_forward(f, args, kwargs, expected, dy, second, rtol, atol)
            _check_lists(f, args, kwargs, expected, dy, rtol, atol)


def assert_close(g: Any, expected: Any, x: Any, rtol: float, atol: float, what: str) -> None:
    """``g`` is a cotangent in the form of ``x`` and agrees with ``expected``; None stands for zero."""
    found = dict(numeric_leaves(g))
    wanted = dict(numeric_leaves(expected))
    for path, leaf in numeric_leaves(x):
        mine = found.get(path, 0.0)
        if path in found and isinstance(leaf, (np.ndarray, np.inexact)):
            assert np.shape(mine) == np.shape(leaf), f"{what} has shape {np.shape(mine)}, not {np.shape(leaf)}"
            if isinstance(leaf, np.ndarray):
                assert np.asarray(mine).dtype == leaf.dtype, f"{what} has dtype {mine.dtype}, not {leaf.dtype}"
        if not np.iscomplexobj(leaf):
            assert not np.iscomplexobj(mine), f"{what} is complex for a real argument"
        size = float(np.max(np.abs(wanted[path]), initial=0.0))
        np.testing.assert_allclose(mine, wanted[path], rtol=rtol, atol=atol + rtol * size, err_msg=what)


def cotangent(y: Any, random: np.random.Generator) -> Any:
    def draw(_: Any, x: Any) -> Any:
        value = random.uniform(0.5, 1.5, np.shape(x))
        if np.iscomplexobj(x):
            value = value + 1j * random.uniform(-1.5, -0.5, np.shape(x))
        if isinstance(x, (np.ndarray, np.generic)):
            return np.asarray(value, x.dtype)[() if isinstance(x, np.generic) else ...]
        return complex(value) if np.iscomplexobj(x) else float(value)

    return rebuild_numbers(y, draw, other=lambda _: None)


def _combine(of: Callable[[Any, Any], Any], a: Any, b: Any) -> Any:
    other = dict(numeric_leaves(b))
    return rebuild_numbers(a, lambda path, x: of(x, other[path]))


def left_out(rule: Any, i: int, x: Any) -> bool:
    """Whether the rule says that it knows no derivative for argument ``i`` (a partial of 0 says that it is zero)."""
    if rule.is_zero:
        return False
    if rule.together is not None:
        return all(isinstance(leaf, int) for _, leaf in numeric_leaves(x))  # an axis, a count
    given = rule.partials or rule.pullbacks
    return i >= len(given) or given[i] is None


def _assert_same(before: Any, after: Any, what: str) -> None:
    for (_, a), (_, b) in zip(numeric_leaves(before), numeric_leaves(after), strict=True):
        assert np.array_equal(np.asarray(a), np.asarray(b), equal_nan=True), what


def _check_complex_step(f: Any, args: Any, kwargs: Any, gradients: Any, dy: Any, known: tuple[int, ...]) -> None:
    h = 1e-30
    for i in known:
        x = np.asarray(args[i])
        slope = np.zeros(x.shape)
        for index in np.ndindex(x.shape):
            moved = x.astype(complex)
            moved[index] += 1j * h
            moved = moved if isinstance(args[i], np.ndarray) else moved[()]
            y = f(*args[:i], moved, *args[i + 1 :], **kwargs)
            slope[index] = np.sum(np.asarray(dy) * np.imag(y)) / h
        np.testing.assert_allclose(gradients[i], slope, rtol=1e-11, atol=1e-13, err_msg=f"{f}: complex step")


def _check_eager(
    f: Any, args: Any, kwargs: Any, expected: dict[int, Any], dy: Any, order: int, rtol: float, atol: float
) -> Second | None:
    """Both tiers of the eager engine, recorded and structured: gradients against the differences ``expected``.

    The second derivatives of the recorded tier are compared with new differences, those of the structured tier with these.
    The structured tier takes a program that calls ``f`` only if it knows the call.
    """
    # What the rule knows no derivative for (an order, a count) is held fixed, as a program that means it would do.
    active = [i for i in expected if numeric_leaves(args[i])]
    if not active:
        return None
    point = tuple(args[i] for i in active)
    program = program_of(f, args, kwargs, active)
    first, second = first_of(program), second_of(program)

    def check(tier: str, y: Any, gradients: Any) -> None:
        _assert_same(f(*args, **kwargs), y, f"{f}: the primal of the {tier} tier differs")
        for i, g in zip(active, gradients, strict=True):
            missing = [path for path, x in numeric_leaves(args[i]) if path not in dict(numeric_leaves(g))]
            assert not missing, f"{f}: the {tier} tier gives no gradient of argument {i} at {missing}"
            assert_close(g, expected[i], args[i], rtol, atol, f"{f}: the {tier} tier's gradient of argument {i}")

    found = None
    with recorded(program):
        check("recorded", *first(dy, *point))
        derivative, cotangent = program, dy
        for times in range(1, order):
            derivative, slack = gradient_program(derivative, cotangent, {}), 10.0 ** (times + 1)
            cotangent = check_pullback(
                derivative, point, {}, repr(f), rtol, atol, seed=times, slack=slack, by_element=False
            )
            if found is None:
                dg = tuple(map(without_integers, point, cotangent))
                found = Second(dict(zip(active, dg)), dict(zip(active, second(dy, dg, *point))))
    if is_structured(program, point):
        check("structured", *first(dy, *point))
        if found is not None:
            for i, h in zip(active, second(dy, tuple(found.cotangents.values()), *point), strict=True):
                what = f"{f}: the structured tier's second derivative in argument {i}"
                assert_close(h, found.derivatives[i], args[i], 100 * rtol, 100 * atol, what)
    return found


@dataclass(frozen=True)
class Second:
    """The derivatives of the first derivatives, times ``cotangents``, by argument."""

    cotangents: dict[int, Any]
    derivatives: dict[int, Any]


def without_integers(x: Any, dx: Any) -> Any:
    """``dx`` with zeros in the places of integers, of which compiled programs give no derivative."""
    of = dict(numeric_leaves(x))
    return rebuild_numbers(dx, lambda path, d: 0.0 if isinstance(of[path], int) else d)


def _check_compiled(
    f: Any,
    args: Any,
    kwargs: Any,
    expected: dict[int, Any],
    dy: Any,
    second: Second | None,
    rtol: float,
    atol: float,
) -> None:
    """Interpret the typed programs of ``f``, its gradient and its second gradient.

    Compiled programs refuse some forms of the functions in ``REFUSED_IN_PART``, and of no others.
    """
    active = [i for i in expected if any(not isinstance(x, int) for _, x in numeric_leaves(args[i]))]
    if not active or f in OF_ANY_ORDER:
        return
    point = copy.deepcopy(tuple(args[i] for i in active))
    program = program_of(f, args, kwargs, active)
    try:
        y, gs = interpreted(first_of(program))(dy, *point)
    except (BadInput, NoDerivative) as error:
        if is_refused(f, error):
            return
        raise
    for (_, a), (_, b) in zip(numeric_leaves(f(*args, **kwargs)), numeric_leaves(y), strict=True):
        np.testing.assert_allclose(b, a, rtol=max(rtol, 1e-9), atol=1e-12, err_msg=f"{f}: the compiled primal")
    for i, g in zip(active, gs, strict=True):
        assert_close(g, expected[i], args[i], rtol, atol, f"{f}: the compiled gradient of argument {i}")
    if second is not None:
        of = [dict(numeric_leaves(x)) for x in point]
        dg = tuple(
            rebuild_numbers(second.cotangents[i], lambda path, d, k=k: None if isinstance(of[k][path], int) else d)
            for k, i in enumerate(active)
        )
        for i, h in zip(active, interpreted(second_of(program))(dy, dg, *point), strict=True):
            what = f"{f}: the compiled second derivative in argument {i}"
            assert_close(h, second.derivatives[i], args[i], 100 * rtol, 100 * atol, what)


def check_forward(
    f: Any, args: Any, kwargs: Any, expected: dict[int, Any], dy: Any, second: Second | None, rtol: float, atol: float
) -> None:
    """Forward mode, eager and compiled: the product of tangent and cotangent of the result is that of the arguments.

    Forward over reverse mode gives the second derivatives that reverse mode gave.
    """
    active = [i for i in expected if any(not isinstance(x, int) for _, x in numeric_leaves(args[i]))]
    if not active or f in OF_ANY_ORDER:
        return
    point = copy.deepcopy(tuple(args[i] for i in active))
    random = np.random.default_rng(11)
    tangents = tuple(without_integers(x, cotangent(x, random)) for x in point)
    program = program_of(f, args, kwargs, active)
    wanted, size = 0.0, 0.0
    for i, t in zip(active, tangents):
        product, scale = _product(expected[i], t)
        wanted, size = wanted + product, size + scale

    def check(path: str, y: Any, ty: Any) -> None:
        for (_, a), (_, b) in zip(numeric_leaves(f(*args, **kwargs)), numeric_leaves(y), strict=True):
            np.testing.assert_allclose(
                b, a, rtol=max(rtol, 1e-9), atol=1e-12, err_msg=f"{f}: the primal of {path} mode"
            )
        for _, t in numeric_leaves(ty):
            assert not isinstance(t, np.ndarray) or np.isfinite(t).all(), f"{f}: {path} mode gives {ty}"
        found, scale = _product(dy, ty)
        np.testing.assert_allclose(
            found, wanted, rtol=rtol, atol=atol + rtol * (size + scale), err_msg=f"{f}: the tangent by {path} mode"
        )
        by_path = dict(numeric_leaves(ty))
        for path_, e in numeric_leaves(y):
            if isinstance(e, np.ndarray) and e.dtype.kind in "fc":
                t = by_path[path_]
                assert (t.shape, t.dtype) == (e.shape, e.dtype), (
                    f"{f}: the tangent of {path} mode is {t.dtype}{t.shape}"
                )

    with recorded(program):
        check("forward", *pushed_of(program)(tangents, *point))
        if second is not None:
            dg = tuple(second.cotangents.values())
            found = forward_over_reverse_of(program)(dy, dg, *point)
            for i, h in zip(active, found, strict=True):
                what = f"{f}: the second derivative in argument {i} by forward over reverse mode"
                assert_close(h, second.derivatives[i], args[i], 100 * rtol, 100 * atol, what)
    try:
        y, ty = interpreted(pushed_of(program))(tangents, *point)
    except (BadInput, NoDerivative) as error:
        if is_refused(f, error):
            return
        raise
    check("compiled forward", y, ty)


def _product(dy: Any, ty: Any) -> tuple[float, float]:
    """The real product of a cotangent and a tangent, and the sum of the sizes of its terms."""
    tangents = dict(numeric_leaves(ty))
    terms = [(np.asarray(g), np.asarray(tangents[path])) for path, g in numeric_leaves(dy) if path in tangents]
    total = sum(float(np.sum(np.real(np.conj(g) * t))) for g, t in terms)
    return total, sum(float(np.sum(np.abs(g) * np.abs(t))) for g, t in terms)


def is_refused(f: Any, error: Exception) -> bool:
    """Whether an error says that compiled programs do not have a form of ``f``, one of those in ``REFUSED_IN_PART``."""
    return isinstance(error, (BadInput, NoDerivative)) and has_refused_forms(f)


def has_refused_forms(f: Any) -> bool:
    if type(f).__name__ == "fortran":  # the routines of BLAS and LAPACK themselves
        return True
    return getattr(f, "__name__", "") in REFUSED_IN_PART.get(getattr(f, "__module__", None) or "", "").split()


def _check_lists(f: Any, args: Any, kwargs: Any, expected: dict[int, Any], dy: Any, rtol: float, atol: float) -> None:
    """Lists in place of the arrays: where ``f`` takes them for the same thing, so does its gradient."""
    from morula.core.api import pullback

    arrays = [i for i in expected if isinstance(args[i], np.ndarray) and args[i].size and args[i].dtype.char in "dD"]
    for i in arrays:
        listed = [x.tolist() if k in arrays else x for k, x in enumerate(args)]
        try:
            _assert_same(f(*args, **kwargs), f(*listed, **kwargs), "")
        except (TypeError, ValueError, AttributeError, AssertionError):
            continue  # arrays only, or ``+`` joining two lists

        def program(x: Any, i: int = i, listed: list[Any] = listed) -> Any:
            return f(*listed[:i], x, *listed[i + 1 :], **kwargs)

        (g,) = pullback(program, listed[i])[1](copy.deepcopy(dy))
        assert_close(np.array(g), expected[i], args[i], rtol, atol, f"{f}: the gradient of argument {i} as a list")
