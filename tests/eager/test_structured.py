"""The structured tier: the functions it takes, its printed code and saved values, and unchanged results."""

from __future__ import annotations

import contextlib
import io
import math
import traceback

import numpy as np
import pytest

import morula as mo
from morula.core.eager.recorded.compiled_calls import parameters
from morula.core.eager.structured import functions as structured
from morula.core.eager.structured.functions import compiled_for
from morula.core.ir.dynamic import verify
from morula.core.testing.differences import ridders
from morula.testing import check_gradients

X = np.array([0.3, -0.7, 1.9])
M = np.array([[0.5, 1.2, -0.4], [0.8, 0.1, 0.6]])


def taken(f, *args):
    """The compiled form of a call, or None."""
    return compiled_for(f, parameters(f, args))


def shown(f, *args) -> str:
    with contextlib.redirect_stdout(io.StringIO()) as out:
        mo.show(f, *args)
    return out.getvalue()


@pytest.fixture(autouse=True)
def verified(monkeypatch):
    """Every function that lowering and reversing make is verified, before and after it is typed."""
    lower = structured.lower

    def checked(function, *static):
        made, guards = lower(function, *static)
        return verify(made), guards

    monkeypatch.setattr(structured, "lower", checked)


# What is taken


def chain(x, n):
    y = x
    for i in range(n):
        y = math.sin(y) * i + x
    return y


def newton(a):
    x, steps = a, 0
    while True:
        following = (x + a / x) / 2
        steps += 1
        if abs(following - x) < 1e-12 or steps > 50:
            break
        if steps == 1:
            x = following + 0.01
            continue
        x = following
    return x


def early(x):
    if x > 1:
        return x * x
    if x < 0:
        return -x
    return x**3


def nested_ifs(x, y):
    z = x
    if x > y:
        if x > 2 * y:
            z = x * y
        else:
            z = x - y
    elif y > 3:
        z = y
    return z * x


def factorial_power(x, n):
    return 1.0 if n == 0 else x * n * factorial_power(x, n - 1)


def cube(x):
    return x * x * x


def calls_another(x, y):
    return cube(x * y) + cube(y)


def both(x, y):
    return x * y, x + y


def tuple_inside(x, y):
    a, b = both(x, y)
    return a * b


def array_expression(v, a):
    return np.tanh(v * a + 1.0) / (1.0 + v**2)


def reductions(v):
    return np.sum(v) * np.mean(v * v) + np.max(v) - v.sum()


def products(m, v):
    return np.dot(m @ v, m @ v)


def elements(v):
    s = 0.0
    for i in range(len(v) - 1):
        s += v[i] * v[i + 1]
    return s


def display(a, b):
    v = np.array([a * b, a + b])
    return np.sum(v * v)


def unpacked(v):
    a, b, c = v
    return a * b + c


def over_an_array(c, x):
    y = 0.0
    for a in c:
        y = y * x + a
    return y


def over_rows(m):
    s = 0.0
    for row in m:
        s = s * 0.5 + np.dot(row, row)
    return s


def conditions(x, y):
    return x if 0 < x < y and not y > 10 else y * x or x


def carried_array(v, n):
    y = v
    for i in range(n):
        z = y * 0.5
        for j in range(2):
            z = np.sin(z) + v
        y = z * y
    return y


TAKEN = [
    (chain, (0.7, 5)),
    (newton, (2.0,)),
    (early, (1.5,)),
    (early, (-0.4,)),
    (nested_ifs, (3.0, 2.0)),
    (nested_ifs, (1.0, 4.0)),
    (factorial_power, (1.2, 4)),
    (calls_another, (0.5, 1.5)),
    (tuple_inside, (0.5, 1.5)),
    (array_expression, (X, 0.4)),
    (reductions, (X,)),
    (products, (M, X)),
    (elements, (X,)),
    (display, (1.5, 0.2)),
    (unpacked, (X,)),
    (over_an_array, (X, 0.9)),
    (over_rows, (M,)),
    (conditions, (0.5, 2.0)),
    (carried_array, (X, 3)),
]


@pytest.mark.parametrize("f, args", TAKEN, ids=lambda x: getattr(x, "__name__", ""))
def test_is_compiled_and_right(f, args, check):
    assert taken(f, *args) is not None
    if isinstance(f(*args), float):
        check(f, *args)
    else:
        check(lambda *a: float(np.sum(f(*a) * f(*a))), *args)


def test_closures_over_numbers_and_arrays_are_compiled(check):
    def make(a, w):
        def f(x):
            return np.sum(a * x * w)

        return f

    f, g = make(2.0, X), make(3.0, X)
    assert taken(f, 0.5) is not None
    assert mo.gradient(f, 0.5)[0] == pytest.approx(2 * X.sum())
    assert mo.gradient(g, 0.5)[0] == pytest.approx(3 * X.sum())  # the same code with other contents
    check(lambda x: float(f(x)), 0.5)


def test_lambdas_are_compiled():
    assert taken(lambda x: x * x, 2.0) is not None


# What is not


def writes(v):
    v[0] = 1.0
    return np.sum(v)


def updates(v):
    v *= 2.0
    return np.sum(v)


def appends(x):
    xs = []
    xs.append(x)
    return xs[0]


def generates(x):
    yield x


def with_inner(x):
    def inner():
        return x

    return inner()


def with_out(v):
    y = np.zeros(3)
    np.multiply(v, v, y)
    return np.sum(y)


def with_out_by_name(v):
    y = np.zeros(3)
    np.multiply(v, v, out=y)
    return np.sum(y)


def sums_into(v):
    y = np.zeros(3)
    np.cumsum(v, 0, None, y)
    return np.sum(y)


def starred(*xs):
    return xs[0] * 2.0


def halving(x):
    n = 0.0
    while (x := x * 0.5) > 0.5:
        n = n + x * x
    return n + x


def assigned_in_a_condition(a):
    y = a
    if a > 0 and (y := a * a) > 1:
        return y * 3
    return y


@pytest.mark.parametrize(
    "f, x",
    [
        (writes, X), (updates, X), (appends, 2.0), (generates, 2.0), (with_inner, 2.0), (with_out, X),
        (with_out_by_name, X), (sums_into, X), (halving, 5.0), (assigned_in_a_condition, 2.0),
    ],
    ids=lambda x: getattr(x, "__name__", ""),
)  # fmt: skip
def test_is_recorded(f, x):
    assert taken(f, x) is None


@pytest.mark.parametrize("f, x", [(appends, 2.0), (halving, 5.0), (assigned_in_a_condition, 2.0)])
def test_what_is_recorded_is_right_too(f, x, check):
    check(f, x)


def test_a_positional_out_is_written_and_differentiated():
    (g,) = mo.gradient(with_out, X)
    assert np.allclose(g, 2 * X)


def test_a_starred_parameter_is_recorded():
    assert parameters(starred, (1.0,)) is None
    assert mo.gradient(starred, 3.0) == (2.0,)


class Unhashable:
    __hash__ = None  # type: ignore[assignment]

    def __call__(self, x):
        return x * x


SQUARE = Unhashable()


def test_a_callable_object_without_hash_is_recorded():
    def f(x):
        return SQUARE(x)

    assert taken(f, 3.0) is None
    assert mo.gradient(f, 3.0) == (6.0,)


# Compiling


def test_each_shape_is_compiled_once_up_to_a_limit_and_then_each_number_of_axes():
    def f(v):
        return np.sum(v * v)

    forms = [taken(f, np.ones(n)) for n in range(1, structured.MOST_VARIANTS + 1)]
    assert len(set(forms)) == structured.MOST_VARIANTS
    assert taken(f, np.ones(3)) is forms[2]
    later = [taken(f, np.ones(n)) for n in range(100, 110)]
    assert len(set(later)) == 1
    assert taken(f, np.ones((2, 2))) is not later[0]
    for n in (3, 105):
        assert np.allclose(mo.gradient(f, np.arange(float(n)))[0], 2 * np.arange(n))


def test_ints_and_floats_share_one_form():
    assert taken(chain, 1, 2) is taken(chain, 1.0, 2.0)


SCALE = 2.0


def scaled(x):
    return SCALE * x


def calls_scaled(x):
    return scaled(x) * x


@pytest.mark.parametrize("f, expected", [(scaled, 5.0), (calls_scaled, 30.0)])
def test_a_global_that_was_read_may_change(f, expected, monkeypatch):
    assert taken(f, 3.0) is not None
    before = mo.gradient(f, 3.0)
    monkeypatch.setitem(globals(), "SCALE", 5.0)
    assert mo.gradient(f, 3.0) == (expected,) != before
    assert taken(f, 3.0) is not None


def test_a_function_that_was_called_may_be_redefined(monkeypatch):
    assert mo.gradient(calls_another, 1.0, 1.0) == (3.0, 6.0)
    monkeypatch.setitem(globals(), "cube", lambda x: x)
    assert mo.gradient(calls_another, 1.0, 1.0) == (1.0, 2.0)


FACTOR = 1.0


def even(x, n):
    return x * FACTOR if n <= 0 else odd(x * x, n - 1)


def odd(x, n):
    return x * 2.0 if n <= 0 else even(x + 1, n - 1)


def test_functions_that_call_each_other_notice_each_others_globals(monkeypatch):
    assert mo.gradient(even, 1.5, 2) == (3.0, 0)  # compiles odd on the way
    assert mo.gradient(odd, 1.5, 3) == (5.0, 0)
    monkeypatch.setitem(globals(), "FACTOR", 3.0)
    assert mo.gradient(odd, 1.5, 3) == (15.0, 0)
    assert taken(odd, 1.5, 3) is not None


def test_the_numpy_function_that_was_called_may_be_replaced(monkeypatch):
    def f(x):
        return np.sin(x)

    assert mo.gradient(f, 0.0) == (1.0,)
    monkeypatch.setattr(np, "sin", np.exp)
    assert mo.gradient(f, 1.0) == (math.e,)


def nest(v, s, n):
    if n <= 0:
        return v * v
    return np.sum(nest(np.sin(v), s, n - 1)) * s + nest(v, s, n - 1) + s


def test_a_recursion_that_returns_arrays_is_right(check):
    check(lambda v, s: float(np.sum(nest(v, s, 2))), X, 2.0)


# What is printed and saved


@pytest.mark.parametrize("f, args", TAKEN, ids=lambda x: getattr(x, "__name__", ""))
def test_what_is_printed_is_what_runs(f, args):
    compiled = taken(f, *args)
    text = shown(f, *args)
    assert text.strip() == "\n".join(compiled.text).strip()
    forward = compiled.forward
    namespace = dict(forward.__globals__) | {k: v for k, v in compiled.backward.__globals__.items() if k != "__name__"}
    exec(text, namespace)
    y, saved = namespace[forward.__name__](*args)
    own, own_saved = forward(*args)
    assert np.array_equal(y, own)
    dy = np.ones_like(y) if isinstance(y, np.ndarray) else 1.0
    for g, expected in zip(namespace[compiled.backward.__name__](saved, dy), compiled.backward(own_saved, dy)):
        assert np.array_equal(g, expected)


def test_a_counter_has_no_cotangent():
    text = shown(power, 5.0, 3)
    assert "dn" not in text and "dr" in text


def power(x, n):
    r = 1
    while n > 0:
        n -= 1
        r *= x
    return r


def test_only_what_the_backward_sweep_mentions_is_saved():
    def f(x, y):
        a = x + y
        b = a - x
        return b * x

    backward = shown(f, 1.0, 2.0).split("def ")[2]
    assert "saved" in backward and " a" not in backward


def test_a_linear_loop_saves_nothing_but_its_length():
    def f(x):
        y = 0.0
        for i in range(3):
            y = y + x
        return y

    assert "append(None)" in shown(f, 1.0)
    assert mo.gradient(f, 1.0) == (3.0,)


def test_an_argument_that_is_not_differentiated_costs_nothing():
    def f(x, y):
        return math.sin(x) * math.exp(y)

    compiled = compiled_for(f, (1.0, 2.0), (True, False))
    assert "dy1" not in compiled.text[1] and "cos" in compiled.text[1] and len(compiled.active) == 2
    assert mo.grad(f)(1.0, 2.0) == pytest.approx(math.cos(1.0) * math.exp(2.0))


# Values


def test_exceptions_are_raised_on_the_users_lines():
    def f(x):
        y = x - 1
        return 1 / y

    with pytest.raises(ZeroDivisionError) as error:
        mo.gradient(f, 1)
    frames = traceback.extract_tb(error.tb)
    assert any(s.filename == __file__ and s.lineno == f.__code__.co_firstlineno + 2 for s in frames)


def test_an_error_of_a_called_function_names_its_line():
    def f(v):
        return elements(v) + v[7]

    with pytest.raises(IndexError) as error:
        mo.gradient(f, X)
    assert any(s.lineno == f.__code__.co_firstlineno + 1 for s in traceback.extract_tb(error.tb))


def test_a_power_that_turns_out_complex_is_recorded():
    def f(x):
        return abs(x**0.5) ** 2

    assert taken(f, -2.0) is not None
    assert mo.gradient(f, -2.0) == pytest.approx((-1.0,))
    assert mo.gradient(f, 2.0) == pytest.approx((1.0,))


def test_integers_stay_integers():
    y, back = mo.vjp(power, 5, 3)
    assert (y, type(y)) == (125, int)
    assert back(1) == (75, 0)
    assert all(type(g) is int for g in back(1))


def test_bools_steer_and_have_no_gradient():
    def f(x, flag):
        return x * x if flag else x

    assert taken(f, 3.0, True) is not None
    assert mo.gradient(f, 3.0, True) == (6.0, None)
    assert mo.gradient(f, 3.0, False) == (1.0, None)


def test_a_comparison_times_a_number():
    assert mo.gradient(lambda x: (x > 1) * x, 3.0) == (1.0,)
    assert mo.gradient(lambda x: (x > 1) * x, 0.5) == (0.0,)


def test_single_precision_stays():
    x = X.astype(np.float32)
    value, g = mo.value_and_grad(lambda v: np.sum(v * v * 0.5))(x)
    assert value.dtype == g.dtype == np.float32
    assert np.array_equal(g, x)
    assert type(mo.gradient(lambda a: a**3, np.float32(2.0))[0]) is np.float32


def test_complex_arguments():
    (g,) = mo.gradient(lambda z: abs(z * z) ** 2, 1 + 1j)
    assert g == pytest.approx(8 + 8j)
    z = np.array([1 + 2j, 0.5 - 1j])
    (g,) = mo.gradient(lambda z: np.sum(np.abs(z) ** 2), z)
    assert np.allclose(g, 2 * z)


def test_loops_that_do_not_run():
    assert mo.gradient(chain, 0.7, 0) == (1.0, 0)
    assert mo.gradient(power, 5.0, 0) == (0.0, 0)
    (g, _) = mo.vjp(carried_array, X, 0)[1](np.ones(3))
    assert np.array_equal(g, np.ones(3))


def test_arrays_without_entries():
    empty = np.zeros(0)
    for f in (lambda v: np.sum(v * v), lambda v: np.sum(np.sin(v)) + 1.0):
        (g,) = mo.gradient(f, empty)
        assert g.shape == (0,)
    assert mo.gradient(over_an_array, empty, 2.0)[1] == 0.0


def test_one_value_on_both_branches():
    def f(x):
        y = x * x
        z = y if x > 0 else y
        if x > 1:
            w = y
        else:
            w = y
        return z + w + y

    assert mo.gradient(f, 2.0) == (12.0,)
    assert mo.gradient(f, -2.0) == (-12.0,)


def test_one_cotangent_that_flows_to_two_operands(check):
    def f(v, w):
        a = v + w
        s = np.sum(a * a)
        b = v + w + a
        return s + np.sum(b * v) + v[0] * v[1] + w[2]

    check(f, X, X[::-1].copy())


def test_carried_values_that_become_one(check):
    def f(v):
        a = v
        b = v * v
        for i in range(3):
            a, b = b, b
        return np.sum(a * b) + np.sum(v)

    check(f, X)


def test_an_array_read_and_used_whole_in_nested_loops(check):
    def f(v, w):
        s = 0.0
        y = v
        for i in range(3):
            for j in range(2):
                s = s + y[j] * w[i]
                if j > 0:
                    y = y + v * w[j]
            s = s * np.sum(w)
            y = np.tanh(y)
        return s

    assert taken(f, X, X) is not None
    check(f, X, X[::-1].copy())


def test_sums_and_entries_of_one_array_in_a_loop(check):
    def f(v):
        s = np.sum(v) + np.mean(v)
        for i in range(3):
            s = s * 0.5 + np.sum(v) + v[i] * v[i]
        return s + np.sum(v)

    check(f, X)


def gram(m):
    return m.T @ m


def test_a_called_function_whose_array_is_only_used_in_some_iterations(check):
    def f(m):
        z = m
        s = 0.0
        for i in range(3):
            s = s + np.sum(z * z)
            z = gram(z)
        return s

    check(f, M[:, :2] * 0.5)


def test_lists_of_indices_pick_rows(check):
    def rows(m, s):
        return np.sum((m[[0, 1, 0]] * s + s) ** 2)

    def two_rows(m, s):
        return np.sum((m[[0, 1]] + s) ** 2)

    def one(v, s):
        r = v[[0]] + s
        return np.sum(r * r)

    check(rows, M, 2.0)
    check(two_rows, M, 2.0)
    check(one, X, 2.0)


def use(p):
    a, b = p
    return a * b


def test_a_tuple_may_be_used_more_than_once(check):
    def unpacked_twice(x):
        p = both(x, x * x)
        a, b = p
        c, d = p
        return a * c + b * d

    def passed_twice(x):
        p = both(x, x * x)
        return use(p) + use(p) * x

    def unpacked_in_a_loop(x):
        p = both(x, x * x)
        s = 0.0
        for i in range(3):
            a, b = p
            s = s * 0.5 + a * b
        return s

    def carried(x, y):
        s = (x, y)
        for i in range(3):
            if i > 0:
                a, b = s
                s = (b, a * b * 0.3)
        a, b = s
        return a + b * b

    check(unpacked_twice, 1.5)
    check(passed_twice, 1.5)
    check(unpacked_in_a_loop, 1.5)
    check(carried, 1.5, 0.8)


def test_results_in_tuples_and_lists():
    y, back = mo.vjp(both, 2.0, 3.0)
    assert y == (6.0, 5.0)
    assert back((1.0, 10.0)) == (13.0, 12.0)
    assert back((1.0, None)) == (3.0, 2.0)
    y, back = mo.vjp(lambda x: [x, x * x], 2.0)
    assert y == [2.0, 4.0]
    assert back([1.0, 1.0]) == (5.0,)


def test_one_array_given_twice():
    def f(v, w):
        return np.sum(v * w * w)

    g, h = mo.gradient(f, X, X)
    assert np.allclose(g, X**2) and np.allclose(h, 2 * X**2)
    assert not np.shares_memory(g, h)


def test_the_pullback_runs_any_number_of_times():
    y, back = mo.vjp(carried_array, X, 3)
    first = back(np.ones(3))[0].copy()
    back(np.ones(3))[0][:] = 0
    assert np.array_equal(back(np.ones(3))[0], first)


@pytest.mark.parametrize("f", [lambda x: chain(x, 4), newton, early, lambda x: factorial_power(x, 3)])
def test_second_derivatives(f):
    slope = mo.grad(f)
    expected, _ = ridders(lambda h: slope(1.7 + h), 0.01)
    assert mo.grad(slope)(1.7) == pytest.approx(expected, rel=1e-6, abs=1e-7)


# Names of methods, exceptions, keywords and defaults


def by_method(x, scale=2.0, method=None):
    if method is None:
        method = "power"
    if method == "power":
        return x**scale
    elif method in ("sum", "difference"):
        return x + scale if method == "sum" else x - scale
    raise ValueError(f"unknown method {method}")


def of_methods(x, y=3.0, kind=None, doubled=True):
    if x < 0:
        raise ValueError("negative")
    assert y > 0, "y has to be positive"
    if kind is not None and kind not in ("plain", "other"):
        raise ValueError(f"unknown kind {kind}")
    z = by_method(x, method="sum") + by_method(y, scale=x) * by_method(scale=y, x=x)
    return 2 * z if doubled else z


@pytest.mark.parametrize("args", [(1.7,), (1.7, 2.5), (1.7, 2.5, "plain"), (1.7, 2.5, None, False)])
def test_methods_chosen_by_name_keywords_and_defaults(args):
    check_gradients(of_methods, *args, order=2)
    assert compiled_for(of_methods, parameters(of_methods, args)) is not None


def test_a_comparison_that_raises_is_left_to_python():
    def of_kind(x, kind):
        try:
            return x * 2 if kind < 0 else x * 3
        except TypeError:
            return x * 5

    def of_name(x, kind):
        return x * 2 if kind < 0 else x * 3

    assert mo.gradient(lambda x: of_kind(x, "name"), 1.5) == (5.0,)
    with pytest.raises(TypeError, match="not supported between instances of 'str' and 'int'"):
        mo.gradient(lambda x: of_name(x, "name") * x, 1.5)


def with_default(x, k=2.0):
    return x * k


def test_a_default_that_changes_is_noticed(monkeypatch):
    def f(x):
        return with_default(x) + x

    assert mo.gradient(f, 3.0) == (3.0,)
    monkeypatch.setattr(with_default, "__defaults__", (5.0,))
    assert mo.gradient(f, 3.0) == (6.0,)


def tries_twice(x):
    try:
        y = math.log(x - 2.0)
    except ValueError:
        y = x * x
    else:
        y = y + x
    try:
        1 / (x - 1.5)
        return y * 3
    except ZeroDivisionError:
        return y * 5


@pytest.mark.parametrize("x", [3.0, 1.0])
def test_what_is_tried_is_compiled_and_what_raises_is_recorded(x):
    check_gradients(tries_twice, x, order=2)
    assert taken(tries_twice, x) is not None
    assert mo.gradient(tries_twice, 1.5) == (15.0,)


def largest(x, y, z):
    return max(x, y * y, z) * min(x, y) + max(x, 2.0)


@pytest.mark.parametrize("args", [(1.0, 2.0, 3.0), (5.0, 0.5, 0.3), (0.1, 1.7, 0.3)])
def test_the_larger_and_the_smaller_of_numbers(args):
    check_gradients(largest, *args, order=2)
    assert taken(largest, *args) is not None


def test_equal_numbers_share_the_cotangent_of_the_largest():
    assert mo.gradient(lambda x, y: max(x, y) * 2.0, 1.5, 1.5) == (1.0, 1.0)
    assert mo.gradient(lambda x, y: [max(x, y) * 2.0][0], 1.5, 1.5) == (1.0, 1.0)


@pytest.mark.parametrize(
    "args, error, text",
    [
        ((-1.0,), ValueError, "negative"),
        ((1.0, -1.0), AssertionError, "y has to be positive"),
        ((1.0, 2.0, "none such"), ValueError, "unknown kind none such"),
    ],
)
def test_exceptions_are_raised_as_they_stand(args, error, text, monkeypatch):
    monkeypatch.delenv("MORULA_TRACEBACK", raising=False)
    with pytest.raises(error, match=text) as caught:
        mo.gradient(of_methods, *args)
    assert caught.traceback[-1].name == "of_methods"
