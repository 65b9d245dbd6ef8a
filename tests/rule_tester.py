"""One tester that proves a derivative rule; the tests of the rules parametrise over cases and call it.

At the level of the table, with no engine: the primal and its arguments are left alone, the cotangents agree with
extrapolated differences (and with the complex step where asked), are linear in the output's cotangent, vanish with it,
and come back in the shape and dtype of their arguments.  Then the same through the engine, to the second order.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import numpy as np
from interpreted import interpreted
from strong_zero_tester import check_strong_zero

from morula.core.errors import BadInput, NoDerivative
from morula.core.rules.table import RULES, pull
from morula.core.testing import check_pullback, gradient_program, leaves, numerical_vjp, rebuild

ENGINE = find_spec("morula.core.api") is not None
REFUSED_IN_PART = {
    "_operator": "getitem",
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
    "scipy.special._logsumexp": "logsumexp",
}
"""Functions, by module, of which a form in these tests does not compile."""
OF_ANY_ORDER = {np.partition}
"""What leaves the order of its results open: compiled programs sort."""


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
    single = any(getattr(x, "dtype", None) in (np.float32, np.complex64) for _, x in leaves(args))
    rtol = (2e-3 if single else 1e-7) if rtol is None else rtol
    atol = (2e-3 if single else 1e-7) if atol is None else atol
    random = np.random.default_rng(7)

    def table(dy: Any) -> list[Any]:
        return (pull(rule, dy, y, args, kwargs) + [None] * len(args))[: len(args)]

    with np.errstate(all="ignore"):
        y = f(*args, **kwargs)
        before = copy.deepcopy((y, args, kwargs))
        dy, another = _cotangent(y, random), _cotangent(y, random)
        gradients = table(dy)
        if known is None:
            known = tuple(i for i in range(len(args)) if gradients[i] is not None or not _left_out(rule, i, args[i]))
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
            assert all(np.all(np.asarray(x) == 0) for _, x in leaves(g)), f"{f}: a zero cotangent gives {g}"
        check_strong_zero(rule, y, dy, args, kwargs, known, max(rtol, 1e-9))
        _assert_same(before, (y, args, kwargs), f"the rule of {f} has changed its arguments")
        if complex_step:
            _check_complex_step(f, args, kwargs, gradients, dy, known)

        if ENGINE and order:
            _check_engine(f, args, kwargs, expected, dy, order, rtol, atol)
            _check_compiled(f, args, kwargs, expected, dy, order, rtol, atol)
            _check_lists(f, args, kwargs, expected, dy, rtol, atol)


def assert_close(g: Any, expected: Any, x: Any, rtol: float, atol: float, what: str) -> None:
    """``g`` is a cotangent in the form of ``x`` and agrees with ``expected``; None stands for zero."""
    found = dict(leaves(g))
    wanted = dict(leaves(expected))
    for path, leaf in leaves(x):
        mine = found.get(path, 0.0)
        if path in found and isinstance(leaf, (np.ndarray, np.inexact)):
            assert np.shape(mine) == np.shape(leaf), f"{what} has shape {np.shape(mine)}, not {np.shape(leaf)}"
            if isinstance(leaf, np.ndarray):
                assert np.asarray(mine).dtype == leaf.dtype, f"{what} has dtype {mine.dtype}, not {leaf.dtype}"
        if not np.iscomplexobj(leaf):
            assert not np.iscomplexobj(mine), f"{what} is complex for a real argument"
        size = float(np.max(np.abs(wanted[path]), initial=0.0))
        np.testing.assert_allclose(mine, wanted[path], rtol=rtol, atol=atol + rtol * size, err_msg=what)


def _cotangent(y: Any, random: np.random.Generator) -> Any:
    def draw(_: Any, x: Any) -> Any:
        value = random.uniform(0.5, 1.5, np.shape(x))
        if np.iscomplexobj(x):
            value = value + 1j * random.uniform(-1.5, -0.5, np.shape(x))
        if isinstance(x, (np.ndarray, np.generic)):
            return np.asarray(value, x.dtype)[() if isinstance(x, np.generic) else ...]
        return complex(value) if np.iscomplexobj(x) else float(value)

    return rebuild(y, draw, other=lambda _: None)


def _combine(of: Callable[[Any, Any], Any], a: Any, b: Any) -> Any:
    other = dict(leaves(b))
    return rebuild(a, lambda path, x: of(x, other[path]))


def _left_out(rule: Any, i: int, x: Any) -> bool:
    """Whether the rule says that it knows no derivative for argument ``i`` (a partial of 0 says that it is zero)."""
    if rule.is_zero:
        return False
    if rule.together is not None:
        return all(isinstance(leaf, int) for _, leaf in leaves(x))  # an axis, a count
    given = rule.partials or rule.pullbacks
    return i >= len(given) or given[i] is None


def _assert_same(before: Any, after: Any, what: str) -> None:
    for (_, a), (_, b) in zip(leaves(before), leaves(after), strict=True):
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


def _check_engine(
    f: Any, args: Any, kwargs: Any, expected: dict[int, Any], dy: Any, order: int, rtol: float, atol: float
) -> None:
    """The gradient of a program that calls ``f`` against the differences ``expected``; its own gradient against new ones."""
    from morula.core.api import pullback

    # What the rule knows no derivative for (an order, a count) is held fixed, as a program that means it would do.
    active = [i for i in expected if leaves(args[i])]
    point = tuple(args[i] for i in active)
    place = [active.index(i) if i in active else None for i in range(len(args))]

    def program(*xs: Any) -> Any:
        return f(*[x if k is None else xs[k] for x, k in zip(args, place)], **kwargs)

    if not point:
        return
    y, back = pullback(program, *point)
    _assert_same(f(*args, **kwargs), y, f"{f}: the engine's primal differs")
    for i, g in zip(active, back(dy), strict=True):
        missing = [path for path, x in leaves(args[i]) if path not in dict(leaves(g))]
        assert not missing, f"{f}: the engine gives no gradient of argument {i} at {missing}"
        assert_close(g, expected[i], args[i], rtol, atol, f"{f}: the engine's gradient of argument {i}")
    for times in range(1, order):
        program, slack = gradient_program(program, dy, {}), 10.0 ** (times + 1)
        dy = check_pullback(program, point, {}, repr(f), rtol, atol, seed=times, slack=slack, by_element=False)


def _check_compiled(
    f: Any, args: Any, kwargs: Any, expected: dict[int, Any], dy: Any, order: int, rtol: float, atol: float
) -> None:
    """What ``jit`` makes of ``f``, of its gradient and of the gradient of that, run by the interpreter.

    Compiled programs refuse some forms of the functions in ``REFUSED_IN_PART``, and of no others.
    """
    from morula.core.api import pullback

    active = [i for i in expected if any(not isinstance(x, int) for _, x in leaves(args[i]))]
    if not active or f in OF_ANY_ORDER:
        return
    place = {i: k for k, i in enumerate(active)}
    fixed = [None if i in place else x for i, x in enumerate(args)]
    point = copy.deepcopy(tuple(args[i] for i in active))

    def program(*xs: Any) -> Any:
        return f(*[xs[place[i]] if i in place else x for i, x in enumerate(fixed)], **kwargs)

    def first(dy: Any, *xs: Any) -> Any:
        y, back = pullback(program, *xs)
        return y, back(dy)

    def second(dy: Any, dg: Any, *xs: Any) -> Any:
        return pullback(lambda *xs: pullback(program, *xs)[1](dy), *xs)[1](dg)

    try:
        y, gs = interpreted(first)(dy, *point)
    except (BadInput, NoDerivative):
        if getattr(f, "__name__", "") in REFUSED_IN_PART.get(getattr(f, "__module__", ""), "").split():
            return
        raise
    for (_, a), (_, b) in zip(leaves(f(*args, **kwargs)), leaves(y), strict=True):
        np.testing.assert_allclose(b, a, rtol=max(rtol, 1e-9), atol=1e-12, err_msg=f"{f}: the compiled primal")
    for i, g in zip(active, gs, strict=True):
        assert_close(g, expected[i], args[i], rtol, atol, f"{f}: the compiled gradient of argument {i}")
    if order > 1:
        dg = _cotangent(gs, np.random.default_rng(3))
        found, wanted = interpreted(second)(dy, dg, *point), second(dy, dg, *point)
        for i, g, h in zip(active, found, wanted, strict=True):
            assert_close(g, h, args[i], 100 * rtol, 100 * atol, f"{f}: the compiled second derivative in argument {i}")


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
