"""Functions: passing of arguments, closures, nested calls."""

from __future__ import annotations

import functools
import inspect
import math
import sys
import types

import numpy as np
import pytest

import morula as mo


def test_default_arguments(check):
    def f(x, y=3.0, z=None):
        return x * y if z is None else x * z

    check(f, 1.5)
    check(f, 1.5, 2.0)


def test_a_default_is_evaluated_once_at_the_definition(check):
    def f(x):
        def collect(y, into=[]):  # noqa: B006
            into.append(y * x)
            return sum(into)

        collect(x)
        return collect(2.0)

    check(f, 1.5)


def test_an_active_default(check):
    def f(x):
        def g(y, scale=x * x):
            return y * scale

        return g(2.0) + g(x, scale=3.0) + g(x)

    check(f, 1.5)


def test_star_arguments_in_and_out(check):
    def g(a, *rest, scale=1.0, **named):
        return a * sum(rest) * scale + named["b"] * len(named)

    def f(x, y):
        args = (x, y, x * y)
        named = {"b": x, "c": y}
        return g(*args, scale=y, **named) + g(x, *[y], b=x)

    check(f, 1.5, 2.0)


def test_the_differentiated_function_takes_star_arguments(check):
    def f(*args, k=2.0):
        return args[0] * args[1] ** k + len(args)

    check(f, 1.5, 2.0, 3.0)


def test_keyword_arguments_of_gradient_are_passed_on():
    def f(x, *, power, **rest):
        return x**power * rest["scale"]

    assert mo.gradient(f, 3.0, power=2, scale=10.0) == (60.0,)


def test_keyword_only_and_positional_only(check):
    def g(a, b, /, c, *, d, e=2.0):
        return a * b + c * d * e

    def f(x, y):
        return g(x, y, c=x, d=y) + g(y, x, x * y, d=1.0, e=x)

    check(f, 1.5, 2.0)


def test_a_wrong_call_raises_as_python_does():
    def g(a, b):
        return a * b

    with pytest.raises(TypeError, match=r"g\(\) missing 1 required positional argument: 'b'"):
        mo.gradient(lambda x: g(x), 1.0)
    with pytest.raises(TypeError, match="unexpected keyword argument 'c'"):
        mo.gradient(lambda x: g(x, c=1), 1.0)


def test_several_lambdas_on_a_line(check):
    f, g, h = lambda x: x * x, lambda x: math.sin(x), lambda x: x**3 + 1  # noqa: E731
    assert check(f, 1.5) == (3.0,)
    assert check(g, 1.5) == (math.cos(1.5),)
    check(h, 1.5)


def test_lambdas_of_the_same_shape_on_a_line():
    f, g = lambda x: x * 2, lambda x: x * 3  # noqa: E731
    assert mo.gradient(f, 1.0) == (2.0,)
    assert mo.gradient(g, 1.0) == (3.0,)


def test_a_lambda_over_several_lines(check):
    check(
        lambda x, y=2.0: (
            x * y
            + y**2
        ),
        1.5,
    )  # fmt: skip


def test_a_lambda_that_makes_a_lambda(check):
    check(lambda x: (lambda y: lambda z: x * y * z)(x)(x + 1), 1.5)


def test_lambdas_in_a_dict(check):
    check(lambda x: {"a": lambda y: y * x, "b": lambda y: y + x}["a"](x), 1.5)


def test_a_closure_reads_active_values(check):
    def f(x):
        y = x * x

        def g(z):
            return y * z + x

        return g(x) + g(2.0)

    check(f, 1.5)


def test_a_closure_sees_later_bindings(check):
    def f(x):
        def g():
            return scale * x

        scale = x
        first = g()
        scale = 3.0 * x
        return first * g()

    check(f, 1.5)


def test_nonlocal_writes(check):
    def f(x):
        total = 0.0

        def add(y):
            nonlocal total
            total += y * x
            return total

        add(1.0)
        add(x)
        total *= 2
        return add(x * x)

    check(f, 1.5)


def test_nonlocal_through_two_levels(check):
    def f(x):
        a = x

        def outer():
            def inner():
                nonlocal a
                a = a * x

            inner()
            inner()
            return a

        return outer() + a

    check(f, 1.5)


def test_a_counter_made_by_a_closure_keeps_state_between_calls(check):
    def make(x):
        state = x

        def step():
            nonlocal state
            state = state * x + 1
            return state

        return step

    def f(x):
        a, b = make(x), make(x * 2)
        return a() + b() + a() * b()

    check(f, 0.7)


def test_closures_in_a_loop_bind_late(check):
    def f(x):
        gs = []
        for k in (1.0, 2.0, 3.0):
            y = x * k
            gs.append(lambda: y * k)  # noqa: B023
        return sum(g() for g in gs)

    assert check(f, 1.5) == (27.0,)


def test_closures_in_a_loop_bind_early_through_defaults(check):
    def f(x):
        gs = [lambda k=k, y=x * k: y * k for k in (1.0, 2.0, 3.0)]
        return sum(g() for g in gs)

    assert check(f, 1.5) == (14.0,)


def test_the_differentiated_function_closes_over_constants():
    rate = 3.0

    def f(x):
        return rate * x

    assert mo.gradient(f, 1.0) == (3.0,)
    rate = 4.0
    assert mo.gradient(f, 1.0) == (4.0,)


def test_a_global_function_may_be_rebound():
    global rebound
    rebound = _double

    def f(x):
        return rebound(x)

    assert mo.gradient(f, 1.0) == (2.0,)
    rebound = _triple
    assert mo.gradient(f, 1.0) == (3.0,)


def _double(x):
    return 2 * x


def _triple(x):
    return 3 * x


rebound = _double


def test_recursion(check):
    def fact(x, n):
        return 1.0 if n == 0 else x * n * fact(x, n - 1)

    check(lambda x: fact(x, 5), 1.2)


def test_recursion_of_the_differentiated_function_itself():
    def power(x, n):
        if n == 0:
            return 1
        if n % 2:
            return x * power(x, n - 1)
        half = power(x, n // 2)
        return half * half

    assert mo.gradient(power, 2, 10) == (5120, 0)


def test_tree_recursion(check):
    def total(tree):
        if isinstance(tree, list):
            y = 1.0
            for t in tree:
                y = y * 0.5 + total(t)
            return y
        return tree * tree

    check(lambda tree: total(tree), [1.0, [2.0, [3.0]], []])


def test_mutual_recursion(check):
    check(lambda x: _even(x, 7), 0.7)


def _even(x, n):
    return x if n == 0 else math.sin(_odd(x, n - 1)) * x


def _odd(x, n):
    return 1.0 if n == 0 else _even(x, n - 1) + x


def test_mutual_recursion_of_local_functions(check):
    def f(x):
        def up(y, n):
            return y if n == 0 else down(y * x, n - 1)

        def down(y, n):
            return y if n == 0 else up(y + x, n - 1)

        return up(1.0, 5)

    check(f, 1.3)


def test_functions_as_arguments_and_results(check):
    def twice(g):
        return lambda y: g(g(y))

    def compose(*gs):
        def h(y):
            for g in gs:
                y = g(y)
            return y

        return h

    check(lambda x: compose(twice(math.sin), lambda y: y * x, twice(lambda y: y + x))(x), 0.7)


def test_a_decorated_helper(check):
    def scaled(factor):
        def decorate(g):
            @functools.wraps(g)
            def wrapped(*args, **kwargs):
                return factor * g(*args, **kwargs)

            return wrapped

        return decorate

    @scaled(3.0)
    def g(x, y=2.0):
        return x * y

    check(lambda x: g(x) + g(x, y=x), 1.5)


def test_the_differentiated_function_is_decorated(check):
    def twice(g):
        @functools.wraps(g)
        def wrapped(x):
            return g(g(x))

        return wrapped

    @twice
    def f(x):
        return x * x

    assert check(f, 1.5) == (13.5,)


def test_a_decorator_inside_the_differentiated_function(check):
    def f(x):
        def scaled(g):
            return lambda y: g(y) * x

        @scaled
        @scaled
        def h(y):
            return y + x

        return h(2.0)

    check(f, 1.5)


def test_a_bound_method_is_differentiated(check):
    class Model:
        def __init__(self, rate):
            self.rate = rate

        def loss(self, x):
            return self.rate * x**2

    assert check(Model(3.0).loss, 1.5) == (9.0,)


def test_builtin_and_numpy_functions_are_differentiated_directly(check):
    check(math.sin, 0.7)
    check(pow, 1.5, 2.0)
    check(np.sum, np.array([1.0, 2.0]))
    check(abs, -1.5)


def test_a_partial_is_differentiated(check):
    def g(a, x, *, b=1.0):
        return a * x * b

    assert check(functools.partial(g, 3.0, b=2.0), 1.5) == (6.0,)


def test_a_callable_object_is_differentiated(check):
    class Quadratic:
        def __init__(self, a):
            self.a = a

        def __call__(self, x):
            return self.a * x * x

    assert check(Quadratic(2.0), 1.5) == (6.0,)


def test_several_results():
    def f(x, y):
        return x * y, [x + y], {"d": x - y, "n": 3}

    y, back = mo.vjp(f, 1.5, 2.0)
    assert y == (3.0, [3.5], {"d": -0.5, "n": 3})
    assert back((1.0, [10.0], {"d": 100.0, "n": 0})) == (112.0, -88.5)


def test_a_cotangent_of_none_stands_for_zero():
    y, back = mo.vjp(lambda x, y: (x * y, x + y), 1.5, 2.0)
    assert back((None, 1.0)) == (1.0, 1.0)


def test_several_results_are_unpacked_by_the_caller(check):
    def polar(x, y):
        return math.hypot(x, y), math.atan2(y, x)

    def f(x, y):
        r, t = polar(x, y)
        both = polar(r, t)
        return both[0] * both[1] + r

    check(f, 1.5, 2.0)


def test_an_unused_argument_has_gradient_zero():
    gradient = mo.gradient(lambda x, y, z: x * 2, 1.5, np.ones(2), [1.0, (2.0, np.ones(1))])
    assert gradient[0] == 2.0
    assert gradient[1].tolist() == [0.0, 0.0]
    assert gradient[2][0] == 0.0 and gradient[2][1][0] == 0.0 and gradient[2][1][1].tolist() == [0.0]


def test_arguments_that_cannot_vary_have_gradient_none():
    def f(x, mode, flag, nothing, indices):
        return x * 2 if mode == "double" and flag and nothing is None else x * indices.sum()

    assert mo.gradient(f, 1.5, "double", True, None, np.array([1, 2])) == (2.0, None, None, None, None)
    assert mo.gradient(f, 1.5, "other", True, None, np.array([1, 2])) == (3.0, None, None, None, None)


def test_a_constant_result_has_gradient_zero():
    assert mo.gradient(lambda x: 1.0, 2.0) == (0.0,)


def test_the_identity():
    assert mo.gradient(lambda x: x, 2.0) == (1.0,)


def test_an_argument_may_be_rebound(check):
    def f(x, y):
        x = x * y
        y = x + y
        x, y = y * x, x
        return x * y

    check(f, 1.5, 0.7)


def test_a_function_called_many_times_with_different_kinds(check):
    def g(x):
        return x * x

    def f(x, v):
        return g(x) + g(v).sum() + g(3) + g(True) + g(x * 1j).real

    check(f, 1.5, np.array([1.0, 2.0]))


def test_a_call_whose_result_is_dropped(check):
    def f(x):
        v = [x]

        def square():
            v[0] = v[0] * v[0]
            return v[0]

        square()
        square()
        return v[0]

    check(f, 1.2)


def test_keyword_arguments_are_evaluated_left_to_right(check):
    def f(x):
        state = [x]

        def bump(k):
            state[0] = state[0] * x + k
            return state[0]

        def g(*, a, b):
            return a * 2 + b * 3

        return g(b=bump(1.0), a=bump(2.0))

    check(f, 0.7)


def test_a_function_object_carries_attributes(check):
    def f(x):
        def g(y):
            g.calls += y
            return y * x

        g.calls = 0.0
        return g(x) * g(2.0) + g.calls

    check(f, 1.5)


def test_a_deep_but_legal_recursion(check):
    def f(x, n):
        return x if n == 0 else f(x, n - 1) * 1.01

    assert mo.gradient(lambda x: f(x, 150), 1.0)[0] == pytest.approx(1.01**150)


def test_a_function_without_source_passes_on_what_it_was_given(check):
    scope = {}
    exec("def parse(x, loc=0.0, scale=1.0):\n    return (x,), loc, scale", scope)
    parse = scope["parse"]

    def f(x, s):
        (y,), loc, scale = parse(x, 0.1, s)
        return (y - loc) / scale

    check(f, 0.7, 1.5)


def test_a_module_that_imports_its_parts_late_is_asked_only_for_what_runs(check):
    package = types.ModuleType("package")
    asked = []

    def attribute(name):
        asked.append(name)
        if name == "missing":
            raise ModuleNotFoundError(name)
        return lambda x: x * x

    package.__getattr__ = attribute

    def f(x):
        out = [lazy.square(x)]  # noqa: F821  # type: ignore[name-defined]
        if x > 100:
            out.append(lazy.missing.cube(x))  # noqa: F821  # type: ignore[name-defined]
        return out[0] * x

    check(types.FunctionType(f.__code__, {"lazy": package}), 1.5)
    assert set(asked) == {"square"}


def test_the_variables_of_the_caller_are_seen(check):
    def of_the_caller(name, depth=1):
        return sys._getframe(depth).f_locals[name]

    def inner(x):
        return of_the_caller("y", 2) * inspect.currentframe().f_locals["x"] * x

    def f(x):
        y = x * x
        return of_the_caller("y") * inner(2.0)

    check(f, 1.5)
    with pytest.raises(ValueError, match="deep"):
        mo.gradient(lambda x: sys._getframe(100_000), 1.5)
