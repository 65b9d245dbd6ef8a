"""The code that runs is differentiated, also if a function's code was replaced."""

from __future__ import annotations

import functools
import types

import pytest

import morula as mo


def with_constant(f, old, new):
    """The code of ``f`` with another constant."""
    return f.__code__.replace(co_consts=tuple(new if c == old else c for c in f.__code__.co_consts))


def with_name(f, old, new):
    return f.__code__.replace(co_names=tuple(new if c == old else c for c in f.__code__.co_names))


class Model:
    def scaled(self, x):
        return x * x * 3


@pytest.mark.parametrize("wrap", [lambda y: y, lambda y: [y][0]], ids=["structured", "recorded"])
def test_a_formula_is_read_from_the_code_that_runs(wrap):
    def plain(x):
        return x * x * 3

    def in_a_list(x):
        return [x * x * 3][0]

    for f in (plain, in_a_list):
        assert mo.grad(lambda x: wrap(f(x)))(2.0) == 12.0  # noqa: B023
        original = f.__code__
        f.__code__ = with_constant(f, 3, 5)
        assert f(2.0) == 20.0 and mo.grad(f)(2.0) == 20.0
        assert mo.grad(lambda x: wrap(f(x)))(2.0) == 20.0  # noqa: B023
        f.__code__ = original
        assert mo.grad(f)(2.0) == 12.0
        assert mo.grad(lambda x: wrap(f(x)))(2.0) == 12.0  # noqa: B023


def test_another_global_name():
    def f(x):
        return abs(x) * x

    f.__code__ = with_name(f, "abs", "float")
    assert f(-3.0) == 9.0 and mo.grad(f)(-3.0) == -6.0


def test_a_function_of_other_code():
    def f(x):
        return x * x

    f.__code__ = (lambda x: x * x * x).__code__
    assert mo.grad(f)(3.0) == 27.0

    def g(x):
        return x

    other = types.FunctionType(with_constant(Model.scaled, 3, 5), globals(), "other")
    assert mo.grad(lambda x: other(None, x) + g(x))(2.0) == 21.0


def test_a_method():
    original = Model.scaled.__code__
    try:
        Model.scaled.__code__ = with_constant(Model.scaled, 3, 5)
        assert mo.grad(Model().scaled)(2.0) == 20.0
    finally:
        Model.scaled.__code__ = original
    assert mo.grad(Model().scaled)(2.0) == 12.0


def test_an_equal_constant_of_another_type():
    def f(x):
        return 1.0 if isinstance(3, int) else x

    def g(x, n=2):
        return x * x * 4 // 3

    g.__code__ = with_constant(g, 4, 4.0)
    assert type(g(2)) is float and type(mo.value_and_grad(g)(2)[0]) is float


def test_a_loop_is_refused_with_the_place_and_the_remedy():
    def f(x):
        total = 0.0
        for k in (1, 2):
            try:
                total += x**k * 3
            except ValueError:
                pass
        return total

    assert mo.grad(f)(2.0) == 15.0
    f.__code__ = with_constant(f, 3, 5)
    with pytest.raises(mo.BadInput, match="the __code__ of .* has been replaced") as error:
        mo.grad(f)(2.0)
    assert f"{__file__}:{f.__code__.co_firstlineno}" in str(error.value) and "@morula.adjoint" in str(error.value)


@pytest.mark.parametrize("target", ["native", "xla"])
def test_compiled(target):
    def f(x):
        return x * x * 3

    f.__code__ = with_constant(f, 3, 5)
    assert mo.jit(mo.grad(f), target=target)(2.0) == 20.0


def test_unusual_but_unchanged_code_is_taken_from_its_source(check):
    """Private names, ``super``, closures, ``nonlocal``, annotations, decorators, defaults and assertions."""

    class Base:
        def scale(self, x):
            return x * 2

    class Derived(Base):
        def __init__(self):
            self.__k = 3.0

        def __twice(self, x, *, times: int = 2, **rest: float) -> float:
            y: float = x * times
            assert y == y
            return super().scale(y) * self.__k

        def scale(self, x, /, *more):
            """A docstring."""

            def inner(u, __v=1.0):
                nonlocal x
                x = u * self.__k
                return [self.__twice(w * x) for w in (u, __v)]

            return sum(inner(x)) + x

    check(lambda x: Derived().scale(x), 0.7)


class Lazy:
    """A decorator in a class, with a private keyword: what it makes carries the name of what is decorated."""

    def __call__(self, f):
        @functools.wraps(f)
        def made(*args, __factor=3.0):
            return f(*args) * __factor

        return made


@pytest.mark.parametrize("path", ["eager", "native", "xla"])
def test_private_names_belong_to_the_class_around_the_code(path):
    class Model:
        @Lazy()
        def scaled(self, x):
            return x * x

    gradient = mo.grad(lambda x: Model().scaled(x))
    assert (gradient if path == "eager" else mo.jit(gradient, target=path))(2.0) == 12.0


@pytest.mark.parametrize("name", ["__code__", "__defaults__", "__kwdefaults__"])
@pytest.mark.parametrize("assign", [setattr, lambda f, name, value: f.__setattr__(name, value)])
def test_a_function_that_is_changed_during_the_run(name, assign, check):
    """It has another body or other defaults from then on, called by its name or as a method."""

    def slow(self, x, k=2.0, *, m=1.0):
        return x * k * m

    def fast(self, x, k=5.0, *, m=7.0):
        return x * x * k * m

    class Model:
        scaled = slow

    def f(x):
        original = getattr(slow, name)
        model = Model()
        try:
            before = slow(None, x) * model.scaled(x)
            assign(slow, name, getattr(fast, name))
            return before + slow(None, x) * model.scaled(x)
        finally:
            setattr(slow, name, original)

    check(f, 0.7)


def test_a_function_that_compiles_itself_at_its_first_call(check):
    def first(x, __made=None):
        def made(x):
            return x * x * 3.0 if first else x  # as many cells as ``first`` has

        first.__code__ = made.__code__
        return first(x)

    original = first.__code__

    def f(x):
        try:
            return first(x) + first(x)
        finally:
            first.__code__ = original

    check(f, 0.7)


def twice(x):
    return x * 2


def five_squares(x):
    return x * x * 5


class Doubling:
    def method(self, x):
        return x * 2


def called_by_name():
    f = types.FunctionType(twice.__code__, globals())
    return f, lambda x: f(x) + x


def called_in_a_loop():
    f = types.FunctionType(twice.__code__, globals())

    def program(x):
        total = x
        for _ in range(1):
            total = total + f(x)
        return total

    return f, program


def called_as_a_method():
    own = type("Own", (Doubling,), {"method": types.FunctionType(twice.__code__, globals())})
    own.method = lambda self, x: x * 2
    return own.method, lambda x: own().method(x) + x


def called_by_a_partial():
    f = types.FunctionType(twice.__code__, globals())
    held = functools.partial(f)
    return f, lambda x: held(x) + x


def differentiated_itself():
    f = lambda x: x * 2 + x  # noqa: E731
    return f, f


@pytest.mark.parametrize("path", ["eager", "native", "xla"])
@pytest.mark.parametrize("call", [called_by_name, called_in_a_loop, called_by_a_partial])
def test_code_that_is_replaced_after_the_first_call_is_run(call, path):
    """As a module that is loaded again in place does it."""
    f, program = call()
    gradient = mo.grad(program)
    run = gradient if path == "eager" else mo.jit(gradient, target=path)
    assert run(3.0) == 3.0
    f.__code__ = five_squares.__code__
    assert run(3.0) == 31.0
    f.__code__ = twice.__code__
    assert run(3.0) == 3.0


@pytest.mark.parametrize("path", ["eager", "native"])
def test_code_of_a_method_and_of_the_function_itself_that_is_replaced_is_run(path):
    for f, program, code in (
        (*called_as_a_method(), (lambda self, x: x * x * 5).__code__),
        (*differentiated_itself(), (lambda x: x * x * 5 + x).__code__),
    ):
        gradient = mo.grad(program)
        run = gradient if path == "eager" else mo.jit(gradient, target=path)
        assert run(3.0) == 3.0
        f.__code__ = code
        assert run(3.0) == 31.0


@pytest.mark.parametrize("path", ["eager", "native"])
def test_defaults_that_are_replaced_after_the_first_call_count(path):
    def scaled(x, k=2.0):
        return x * k

    gradient = mo.grad(lambda x: scaled(x) * x)
    run = gradient if path == "eager" else mo.jit(gradient, target=path)
    assert run(3.0) == 12.0
    scaled.__defaults__ = (7.0,)
    assert run(3.0) == 42.0


def test_a_function_that_is_changed_at_each_turn_of_a_loop(check):
    def scaled(x):
        return x * 2.0

    def square(x):
        return x * x

    def cube(x):
        return x * x * x

    originals = [g.__code__ for g in (scaled, square, cube)]

    def f(x):
        y = 0.0
        for code in originals:
            scaled.__code__ = code
            y = y + scaled(x)
        scaled.__code__ = originals[0]
        return y

    check(f, 0.7)
