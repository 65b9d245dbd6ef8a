"""Forward mode by the structured tier: the functions it takes, its printed code, and when a run is recorded instead."""

from __future__ import annotations

import math
import traceback
import warnings

import numpy as np
import pytest
from fuzz.judge import recording

import morula as mo
from morula.core.eager.forward import compiled as forward
from morula.core.eager.recorded import known
from morula.core.eager.recorded.compiled_calls import parameters
from morula.core.eager.structured.functions import compiled_for
from morula.core.testing.differences import ridders

X = np.array([0.3, -0.7, 1.9])
DX = np.array([0.5, 1.5, -0.4])
M = np.array([[0.5, 1.2, -0.4], [0.8, 0.1, 0.6]])
DM = np.array([[0.1, -0.3, 0.7], [1.1, 0.2, -0.5]])


@pytest.fixture(autouse=True)
def nothing_known():
    """No function is known to be recorded from a run of an earlier test."""
    known.forget_all()


def taken(f, *args, active=None):
    """The compiled form of a call, or None."""
    return compiled_for(f, parameters(f, args), active, is_forward=True)


def text_of(f, *args, active=None) -> str:
    return taken(f, *args, active=active).text[0]


# What is taken


def loop_with_branches(x, y):
    total = 0.0
    for i in range(5):
        if total > x:
            total = total * y - i
        else:
            total, y = total + math.exp(x) * i, y * 0.5
    return total


def root(a):
    x, steps = a, 0
    while True:
        before, x = x, 0.5 * (x + a / x)
        steps += 1
        if abs(x - before) < 1e-12 or steps > 50:
            break
    return x


def square(x):
    return x * x


def calls(x, y):
    return square(x * y) + square(2.0) * y


def pair(x, y):
    return x * y, x / y


def unpacked(x, y):
    a, b = pair(x, y)
    c, d = (a, b) if a > b else (b, a * 2.0)
    return c * d


def tuple_read_twice(x, y):
    both = (x * y, x + y)
    a, b = both
    c, d = both
    return a * d + b * c


def swapped(x, y):
    both = (x, y * 2.0)
    for _ in range(3):
        a, b = both
        both = (b, a * 0.5)
    first, second = both
    return first * first + second


def recursive(x, n):
    return x if n < 2 else recursive(x * 1.1, n - 1) + recursive(x * x, n - 2)


def arrays(x, m):
    y = np.exp(-x) * m + 1.0
    z = m @ x
    return np.sum(y) + np.dot(z, z) + np.max(x) * np.linalg.norm(x) + np.std(x) + x[1] * y[0, 2]


def shapes(x, m):
    return np.sum(np.concatenate([x, m.T[:, 0], np.array([x[0], 1.0])]) ** 2) + np.sum(np.where(m > 0.3, m, m * x))


def rows(x, m):
    total = 0.0
    for row in m:
        for e in row:
            total = total + e * x[0]
        total = total * row[1]
    return total


def number_and_array(x, y):
    return np.sum(np.abs(X * x + y) + np.clip(X * y, -0.5, x) + np.sqrt(x * x + X * X))


def grown(x, y):
    z = x
    for _ in range(2):
        z = X + z * y
    return np.sum(z)


def solved(x, m):
    a = m @ m.T + np.eye(2) * x[0]
    b = np.linalg.solve(a, m[:, 0])
    return np.sum(b * b) + np.sum(np.linalg.solve(a, m))


PROGRAMS = [
    (loop_with_branches, (0.7, 1.3), (1.0, -0.5)),
    (root, (2.0,), (1.0,)),
    (calls, (0.7, 1.3), (1.0, -0.5)),
    (unpacked, (0.7, 1.3), (1.0, -0.5)),
    (unpacked, (0.7, 0.3), (1.0, -0.5)),
    (tuple_read_twice, (0.7, 1.3), (1.0, -0.5)),
    (swapped, (0.7, 1.3), (1.0, -0.5)),
    (recursive, (0.7, 5), (1.0, None)),
    (arrays, (X, M), (DX, DM)),
    (arrays, (X, M), (None, DM)),
    (arrays, (X, M), (DX, None)),
    (shapes, (X, M), (DX, DM)),
    (shapes, (X, M), (DX, None)),
    (rows, (X, M), (DX, DM)),
    (number_and_array, (0.7, 0.2), (1.0, -0.5)),
    (number_and_array, (0.7, 0.2), (None, 1.0)),
    (grown, (0.7, 0.2), (1.0, -0.5)),
    (grown, (0.7, 0.2), (None, 1.0)),
    (solved, (X, M), (DX, DM)),
]
IDS = [f"{f.__name__}-{k}" for k, (f, _, _) in enumerate(PROGRAMS)]


def slope(f, args, tangents):
    def moved(t):
        return f(*(x if dx is None else x + t * dx for x, dx in zip(args, tangents)))

    return ridders(moved, 1e-2)[0]


@pytest.mark.parametrize("f, args, tangents", PROGRAMS, ids=IDS)
def test_tangents_are_those_of_differences_and_of_the_tape(f, args, tangents):
    assert taken(f, *args, active=tuple(t is not None for t in tangents)) is not None
    y, dy = mo.jvp(f, args, tangents)
    assert y == f(*args)
    assert np.isclose(dy, slope(f, args, tangents), rtol=1e-7, atol=1e-9)
    with recording():
        assert np.isclose(dy, mo.jvp(f, args, tangents)[1], rtol=1e-12)


@pytest.mark.parametrize("f, args, tangents", PROGRAMS, ids=IDS)
def test_a_recorded_program_calls_the_form_with_tangents(f, args, tangents, monkeypatch):
    run, found = forward.run_compiled, []
    monkeypatch.setattr(forward, "run_compiled", lambda *given: found.append(run(*given)) or found[-1])

    def program(*xs):
        kept = {"value": f(*xs)}
        return kept["value"]

    y, dy = mo.jvp(program, args, tangents)
    assert any(r is not None for r in found)
    assert y == f(*args)
    assert np.isclose(dy, mo.jvp(f, args, tangents)[1], rtol=1e-12)


@pytest.mark.parametrize("f, args, tangents", PROGRAMS, ids=IDS)
def test_modes_nest(f, args, tangents):
    chosen = [i for i, t in enumerate(tangents) if t is not None]

    def along(*xs):
        return mo.jvp(f, xs, tangents)[1]

    expected = slope(lambda *xs: slope(f, xs, tangents), args, tangents)
    forward_twice = mo.jvp(along, args, tangents)[1]
    gradient = mo.grad(along, chosen)(*args)
    over_reverse = mo.jvp(lambda *xs: mo.grad(f, chosen)(*xs), args, tangents)[1]
    for g in (gradient, over_reverse):
        assert np.isclose(
            sum(np.sum(gi * tangents[i]) for gi, i in zip(g, chosen)), forward_twice, rtol=1e-9, atol=1e-9
        )
    assert np.isclose(forward_twice, expected, rtol=1e-4, atol=1e-5)


def test_perturbations_of_different_levels_are_kept_apart():
    # Siskind and Pearlmutter, "Perturbation confusion and referential transparency" (2005): d/dx (x d/dy (x + y)) = 1.
    assert mo.jvp(lambda x: x * mo.jvp(lambda y: x + y, (1.0,), (1.0,))[1], (1.0,), (1.0,)) == (1.0, 1.0)
    assert mo.jvp(lambda x: x * mo.jvp(lambda y: square(x) * y, (2.0,), (1.0,))[1], (3.0,), (1.0,)) == (27.0, 27.0)


# The code


def test_the_tangent_stands_beside_each_operation():
    assert text_of(lambda x, y: math.sin(x) * y, 1.0, 2.0) == (
        "def lambda_tangent(x, y, dx, dy):\n"
        "    t = math.sin(x)\n"
        "    return (t * y, dx * math.cos(x) * y + dy * t)\n"
    )  # fmt: skip


def test_what_does_not_vary_costs_nothing():
    def f(x, y):
        z = math.exp(y) * 3.0
        return x * z

    assert text_of(f, 1.0, 2.0, active=(True, False)) == (
        "def f_tangent(x, y, dx):\n"
        "    z = math.exp(y) * 3.0\n"
        "    return (x * z, dx * z)\n"
    )  # fmt: skip


def test_show_prints_the_code_of_forward_mode(capsys):
    mo.show(square, mode="forward")
    assert capsys.readouterr().out == "def square_tangent(x, dx):\n    return (x * x, dx * x + dx * x)\n"


def test_show_names_the_modes_that_exist():
    with pytest.raises(mo.BadInput, match='there is no mode \'taylor\'; mode is "reverse" or "forward"'):
        mo.show(square, mode="taylor")


# Results


def test_a_result_has_a_tangent_of_its_structure():
    y, dy = mo.jvp(lambda x, m: (x * 2.0, [m, 3.0], np.sum(m)), (X, M), (DX, None))
    assert isinstance(dy, tuple) and isinstance(dy[1], list)
    assert np.array_equal(dy[0], DX * 2)
    assert np.array_equal(dy[1][0], np.zeros_like(M)) and dy[1][1] == 0.0 and type(dy[1][1]) is float
    assert dy[2] == 0.0 and y[1][1] == 3.0


def test_tangents_share_no_memory_with_those_that_were_given_or_with_each_other():
    dx = DX.copy()
    for f in (lambda x: x, lambda x: x + 1.0, lambda x: x[1:]):
        assert taken(f, X) is not None
        assert not np.may_share_memory(mo.jvp(f, (X,), (dx,))[1], dx)
    first, second = mo.jvp(lambda x: (x + 1.0, x - 2.0), (X,), (dx,))[1]
    assert not np.may_share_memory(first, second)


def test_a_later_write_into_a_result_leaves_the_tangent_of_the_argument():
    def shifted(x):
        return x + 1.0

    def program(x):
        y = shifted(x)
        y[0] = 5.0
        return np.sum(x) + np.sum(y)

    assert np.isclose(mo.jvp(program, (X,), (DX,))[1], np.sum(DX) + np.sum(DX[1:]))


def test_results_that_are_views_of_an_argument_share_its_tangent():
    def tail(x):
        return x[1:]

    def program(x):
        x = x * 1.0
        y = tail(x)
        y[0] = 7.0
        return np.sum(x * x)

    assert np.isclose(mo.jvp(program, (X,), (DX,))[1], 2 * (X[0] * DX[0] + X[2] * DX[2]))


@pytest.mark.parametrize("dtype", [np.float32, np.complex128])
def test_tangents_have_the_dtype_of_the_results(dtype):
    def f(x):
        return np.exp(x) * 2.0 + x[::-1]

    x = X.astype(dtype) * (1 + 0.5j if dtype is np.complex128 else 1)
    dy = mo.jvp(f, (x,), (x,))[1]
    assert dy.dtype == dtype and np.allclose(dy, np.exp(x) * 2.0 * x + x[::-1], rtol=1e-5)


def test_a_real_result_of_complex_values_has_a_real_tangent():
    def f(a, b):
        z = a + 1j * b
        return np.real(z * z) + np.imag(np.exp(z))

    def expected(a, b):
        return a * a - b * b + math.exp(a) * math.sin(b)

    dy = mo.jvp(f, (0.3, 0.7), (1.0, -0.4))[1]
    assert isinstance(dy, float) and np.isclose(dy, slope(expected, (0.3, 0.7), (1.0, -0.4)), rtol=1e-9)


# Runs that are recorded instead


def test_a_zero_tangent_at_an_infinite_slope_gives_zero():
    def f(x, y):
        return math.sqrt(x) + y * y

    def g(x, y):
        return np.sum(np.sqrt(x)) + y * y

    assert taken(f, 0.0, 3.0) is not None
    for _ in range(6):  # also once the form is not tried any more
        assert mo.jvp(f, (0.0, 3.0), (0.0, 1.0)) == (9.0, 6.0)
        assert mo.jvp(g, (np.array([0.0, 4.0]), 3.0), (np.array([0.0, 1.0]), 1.0)) == (11.0, 6.25)
    assert mo.jvp(f, (4.0, 3.0), (1.0, 1.0)) == (11.0, 6.25)


def test_an_infinite_slope_gives_an_infinite_tangent_without_a_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert mo.jvp(lambda x: np.sqrt(x), (np.zeros(2),), (np.ones(2),))[1].tolist() == [math.inf, math.inf]
        assert mo.jvp(lambda x: math.sqrt(x), (0.0,), (1.0,)) == (0.0, math.inf)


def test_the_program_warns_as_it_does_without_a_derivative():
    def f(x):
        return np.sum(np.log(x))

    with pytest.warns(RuntimeWarning, match="divide by zero encountered in log"):
        f(np.zeros(1))
    with pytest.warns(RuntimeWarning, match="divide by zero encountered in log"):
        mo.jvp(f, (np.zeros(1),), (np.ones(1),))
    with np.errstate(all="raise"), pytest.raises(FloatingPointError):
        mo.jvp(f, (np.zeros(1),), (np.ones(1),))


def test_underflow_is_reported_if_the_program_asks_for_it():
    def f(x):
        return np.exp(-x) * 1e-300

    with np.errstate(under="raise"), pytest.raises(FloatingPointError, match="underflow"):
        mo.jvp(f, (np.array([700.0]),), (np.array([1.0]),))
    assert mo.jvp(f, (np.array([700.0]),), (np.array([1.0]),))[0] == 0.0


def test_an_error_shows_the_line_of_the_program():
    def f(x):
        y = x - 1.0
        return math.log(y)

    with pytest.raises(ValueError) as caught:
        mo.jvp(f, (0.5,), (1.0,))
    assert "return math.log(y)" in "".join(traceback.format_exception(caught.value))


FACTOR = 2.0


def scaled(x):
    return x * FACTOR


def test_a_rebound_global_is_read_again(monkeypatch):
    assert mo.jvp(scaled, (3.0,), (1.0,)) == (6.0, 2.0)
    monkeypatch.setitem(globals(), "FACTOR", 5.0)
    assert mo.jvp(scaled, (3.0,), (1.0,)) == (15.0, 5.0)


def test_a_global_that_the_run_computes_has_its_tangent(monkeypatch):
    def program(x):
        global FACTOR
        FACTOR = x * x
        return scaled(x)

    monkeypatch.setitem(globals(), "FACTOR", 1.0)
    assert mo.jvp(program, (3.0,), (1.0,)) == (27.0, 27.0)


def test_a_closure_has_the_tangent_of_the_variable_that_it_holds():
    def program(x):
        def inner(y):
            return x * y

        return inner(2.0) + inner(x)

    assert mo.jvp(program, (3.0,), (1.0,)) == (15.0, 8.0)


def test_a_custom_tangent_or_adjoint_is_used_also_by_forms_that_exist():
    def half(x):
        return x / 2

    def f(x):
        return half(x) * 3.0

    assert mo.jvp(f, (4.0,), (1.0,)) == (6.0, 1.5)
    mo.tangent(half)(lambda x: (x / 2, lambda dx: dx * 100.0))
    assert mo.jvp(f, (4.0,), (1.0,)) == (6.0, 300.0)


def test_hooks_and_stopped_gradients_inside_keep_their_meaning():
    def stopped(x):
        return mo.stop_gradient(x) * x

    def hooked(x):
        return mo.hook(lambda g: g, x) * x

    assert mo.jvp(lambda x: stopped(x) * 1.0, (3.0,), (1.0,)) == (9.0, 3.0)
    with pytest.raises(mo.NoDerivative, match="hook"):
        mo.jvp(lambda x: hooked(x) * 1.0, (3.0,), (1.0,))


def test_debug_nans_sees_the_operations_of_a_form():
    def f(x):
        y = x - 1.0
        return np.sum(np.sqrt(y))

    mo.jvp(f, (np.array([2.0]),), (np.array([1.0]),))
    with mo.debug_nans(), pytest.raises(mo.NonFinite, match="NaN first appears in sqrt"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        mo.jvp(f, (np.array([0.0]),), (np.array([1.0]),))
