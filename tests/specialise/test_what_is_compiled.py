"""Any callable can be compiled, or is refused with a message: methods, partials, objects, C functions, classes."""

from __future__ import annotations

import collections
import copy
import functools
import math
import operator
import pickle
import struct

import numpy as np
import pytest
import scipy.interpolate
import scipy.special

import morula as mo


class Scale:
    rate = 3.0

    def __init__(self, weight=2.0):
        self.weight = weight

    def method(self, x, y=1.0):
        return self.weight * x + y

    def __call__(self, x):
        return self.weight * x + 1

    @property
    def shifted(self):
        return self.weight + 1

    @staticmethod
    def static(x):
        return x + 1

    @classmethod
    def of_class(cls, x):
        return cls.rate * x


class Faster(Scale):
    rate = 5.0

    def method(self, x, y=1.0):
        return super().method(x, y) + 1


def decorated(f):
    @functools.wraps(f)
    def wrapper(*args, **kwargs):
        return f(*args, **kwargs) + 1

    return wrapper


@functools.singledispatch
def by_kind(x):
    return x * 2


@by_kind.register
def _(x: int):
    return x * 3


@by_kind.register
def _(x: np.ndarray):
    return x.sum()


class ByKind:
    @functools.singledispatchmethod
    def method(self, x):
        return x * 2

    @method.register
    def _(self, x: int):
        return x + 10


def halves_and_signs(x):
    return x / 2, 1 if x > 0 else -1


@decorated
def product(x, *, y=2.0):
    return x * y


def three(a, b, c=1.0):
    return a * b + c


CALLABLES = {
    "a method": (lambda: Scale().method, (3.0,)),
    "a method that calls super": (lambda: Faster().method, (3.0,)),
    "a method of a class": (lambda: Scale.method, (Scale(4.0), 3.0)),
    "a static method": (lambda: Scale.static, (3.0,)),
    "a class method": (lambda: Faster.of_class, (3.0,)),
    "an object": (lambda: Scale(4.0), (3.0,)),
    "a partial": (lambda: functools.partial(three, 2.0), (3.0,)),
    "a partial by name": (lambda: functools.partial(three, c=2.0), (3.0, 4.0)),
    "a partial of a partial": (lambda: functools.partial(functools.partial(three, 2.0), 7.0), ()),
    "a partial of a method": (lambda: functools.partial(Scale().method, y=3.0), (2.0,)),
    "a lambda": (lambda: lambda x: x * 2, (2.0,)),
    "a decorated function": (lambda: product, (3.0,)),
    "a compiled function": (lambda: mo.jit(three), (3.0, 4.0)),
    "a derivative": (lambda: mo.grad(Scale(3.0).method), (2.0,)),
    "a ufunc": (lambda: np.sin, (1.0,)),
    "a method of a ufunc": (lambda: np.add.reduce, (np.ones(3),)),
    "NumPy": (lambda: np.linalg.norm, (np.ones(3),)),
    "SciPy": (lambda: scipy.special.erf, (0.3,)),
    "math": (lambda: math.sqrt, (4.0,)),
    "operator": (lambda: operator.add, (4.0, 1.0)),
    "itemgetter": (lambda: operator.itemgetter(1), ([1.0, 2.0],)),
    "methodcaller": (lambda: operator.methodcaller("sum"), (np.ones(3),)),
    "sum": (lambda: sum, ([1.0, 2.0],)),
    "max": (lambda: max, (1.0, 2.0)),
    "len": (lambda: len, (np.ones(3),)),
    "int": (lambda: int, (2.7,)),
    "a generic function, of a float": (lambda: by_kind, (2.0,)),
    "a generic function, of an int": (lambda: by_kind, (2,)),
    "a generic function, of an array": (lambda: by_kind, (np.ones(3),)),
    "a generic function inside": (lambda: lambda x: by_kind(x) + by_kind(2), (np.ones(3),)),
    "a generic method": (lambda: lambda x: ByKind().method(x), (3,)),
    "a method of an array": (lambda: np.arange(3.0).dot, (np.ones(3),)),
    "a method of an array inside": (lambda: lambda x, f=np.arange(3.0).dot: f(x), (np.ones(3),)),
    "a method of an array as argument": (lambda: lambda f, x: f(x), (np.arange(3.0).dot, np.ones(3))),
    "a method of a class of C": (lambda: np.ndarray.sum, (np.ones(3),)),
    "an operator of a class of C": (lambda: np.ndarray.__len__, (np.ones(3),)),
    "a method of a dict": (lambda: {"a": 2.0}.get, ("a",)),
    "a polynomial of NumPy": (lambda: np.poly1d([1.0, 2.0]), (3.0,)),
}


@pytest.mark.parametrize("name", CALLABLES)
def test_what_can_be_called(name, target):
    make, args = CALLABLES[name]
    found, expected = mo.jit(make(), target=target)(*args), make()(*args)
    assert type(found) is type(expected) and found == pytest.approx(expected)


VECTORIZED = {
    "of an array": (np.vectorize(lambda x: x * 2 if x > 1 else -x), (np.arange(6.0).reshape(2, 3),)),
    "of ints": (np.vectorize(lambda x: x // 2), (np.arange(5),)),
    "of two that broadcast": (np.vectorize(lambda x, y: max(x, y)), (np.arange(3.0), np.array([[1.0], [0.5]]))),
    "of a number": (np.vectorize(lambda x: x + 1), (2.0,)),
    "of a function": (lambda x: np.vectorize(lambda f, x: f(x) + x)(np.sin, x), (np.arange(3.0),)),
    "of a text": (lambda x: np.vectorize(lambda x, sign: -x if sign == "-" else x)(x, "-"), (np.arange(3.0),)),
    "of two results": (np.vectorize(halves_and_signs), (np.array([1.0, -2.0]),)),
    "with dtypes": (np.vectorize(lambda x: x, otypes=["f4"]), (np.arange(3.0),)),
    "of nothing": (np.vectorize(lambda x: x, otypes=[float]), (np.zeros((2, 0)),)),
    "of narrow floats": (np.vectorize(lambda x: x * 2), (np.arange(3, dtype=np.float32),)),
}


@pytest.mark.parametrize("name", VECTORIZED)
@pytest.mark.parametrize("is_inside", [False, True])
def test_vectorized_functions(name, is_inside, target):
    f, args = VECTORIZED[name]
    found, expected = mo.jit((lambda *a: f(*a)) if is_inside else f, target=target)(*args), f(*args)
    pairs = zip(found, expected, strict=True) if isinstance(expected, tuple) else [(found, expected)]
    for x, y in pairs:
        assert x.dtype == y.dtype and x.shape == y.shape
        np.testing.assert_allclose(x, y)


def test_vectorized_functions_raise_and_are_differentiated(target):
    reciprocal = np.vectorize(lambda x: 1.0 / x)
    with pytest.raises(ZeroDivisionError):
        mo.jit(reciprocal, target=target)(np.array([1.0, 0.0]))
    with pytest.raises(ValueError, match="size 0 inputs"):
        mo.jit(reciprocal, target=target)(np.zeros(0))
    found = mo.jit(mo.grad(lambda x: np.sum(reciprocal(x))), target=target)(np.array([1.0, 2.0]))
    np.testing.assert_allclose(found, [-1.0, -0.25])


def test_methods_that_change_what_they_are_of(target):
    items, table, array = [1.0], {"a": 1.0}, np.zeros(2)
    assert mo.jit(items.append, target=target)(2.0) is None and items == [1.0, 2.0]
    assert mo.jit(functools.partial(items.extend), target=target)([3.0]) is None and items == [1.0, 2.0, 3.0]
    assert mo.jit(table.update, target=target)({"b": 2.0}) is None and table == {"a": 1.0, "b": 2.0}
    assert mo.jit(array.fill, target=target)(3.0) is None and array.tolist() == [3.0, 3.0]
    assert {type(x) for x in (*items, *table.values())} == {float}


@pytest.mark.parametrize("holder", [set(), collections.deque()], ids=["set", "deque"])
def test_methods_that_would_change_what_is_outside_are_refused(holder, target):
    method = holder.append if hasattr(holder, "append") else holder.add
    before = copy.copy(holder)
    partial = functools.partial(method)
    for f, args in ((lambda x: method(x), (2.0,)), (lambda g, x: g(x), (method, 2.0)), (lambda x: partial(x), (2.0,))):
        with pytest.raises(
            mo.BadInput, match=f"changes a {type(holder).__name__} that is not one of the function's arg"
        ):
            mo.jit(f, target=target)(*args)
    assert holder == before


def test_a_class(target):
    made = mo.jit(Scale, target=target)(5.0)
    assert type(made) is Scale and made.weight == 5.0


class Compiled(Scale):
    method = mo.jit(Scale.method)
    later = functools.partialmethod(mo.jit(Scale.method), 2.0)
    inside = staticmethod(mo.jit(Scale.static))
    outside = mo.jit(staticmethod(Scale.static))
    of_class = classmethod(mo.jit(lambda cls, x: cls.rate * x))
    class_of = mo.jit(classmethod(lambda cls, x: cls.rate * x))
    shifted = property(mo.jit(Scale.shifted.fget))
    __call__ = mo.jit(Scale.__call__)


class CompiledFaster(Compiled):
    rate = 5.0


def test_compiled_functions_as_attributes_of_a_class():
    x = Compiled(4.0)
    assert x.method(3.0) == 13.0 and Compiled.method(x, 3.0, y=2.0) == 14.0 and x.later() == 9.0
    assert x.inside(1.0) == Compiled.inside(1.0) == x.outside(1.0) == Compiled.outside(1.0) == 2.0
    assert [k.of_class(2.0) for k in (Compiled, CompiledFaster, x)] == [6.0, 10.0, 6.0]
    assert [k.class_of(2.0) for k in (Compiled, CompiledFaster, CompiledFaster())] == [6.0, 10.0, 10.0]
    assert x.shifted == 5.0 and x(2.0) == 9.0 and mo.jit(x)(2.0) == 9.0


@pytest.mark.parametrize("make", [lambda x: x, lambda x: x.method], ids=["the object", "its method"])
def test_an_object_that_has_changed_since(make, target):
    x = Scale(2.0)
    f = mo.jit(make(x), target=target)
    assert f(3.0) == 7.0
    x.weight = 10.0
    assert f(3.0) == 31.0
    x.weight = np.array([1.0, 2.0])
    assert f(3.0).tolist() == [4.0, 7.0]


def everything(a, /, b, c=3.0, *args, d, e=5.0, **more):
    return a + 10 * b + 100 * c + 1000 * sum(args) + 1e4 * d + 1e5 * e + 1e6 * sum(more.values())


@pytest.mark.parametrize(
    "args, kwargs",
    [
        ((1.0, 2.0), {"d": 4.0}),
        ((1.0, 2.0, 3.0, 6.0, 7.0), {"d": 4.0, "z": 1.0}),
        ((1.0,), {"b": 2.0, "d": 1.0, "e": 0.0}),
        ((1.0, 2.0), {}),
        ((), {"b": 2.0, "d": 3.0}),
        ((), {"d": 3.0}),
        ((), {"a": 1.0, "b": 2.0, "d": 3.0}),
        ((1.0, 2.0), {"b": 2.0, "d": 1.0}),
    ],
)
def test_arguments_are_bound_as_python_binds_them(args, kwargs, target):
    def outcome(f):
        try:
            return f(*args, **kwargs)
        except TypeError as error:
            return str(error)

    assert outcome(mo.jit(everything, target=target)) == outcome(everything)


@pytest.mark.parametrize("args", [(1.0,), (1.0, 2.0, 3.0, 4.0)])
def test_too_few_and_too_many_arguments(args, target):
    with pytest.raises(TypeError) as plain:
        three(*args)
    with pytest.raises(TypeError) as compiled:
        mo.jit(three, target=target)(*args)
    assert str(compiled.value) == str(plain.value)


async def coroutine(x):
    return x


def generator(x):
    yield x


async def both(x):
    yield x


@pytest.mark.parametrize(
    "f, text",
    [
        (coroutine, "coroutine .*is an async function"),
        (both, "both .*is an async function"),
        (generator, "an iterator; return a list"),
        (lambda x: (x for _ in range(2)), "an iterator; return a list"),
        (lambda x: iter([x]), "an iterator; return a list"),
        (np.frompyfunc(lambda x: x, 1, 1), "returns arrays of Python objects.*np.vectorize"),
        (np.vectorize(lambda x, y: x, excluded=[1]), "np.vectorize with signature=, excluded=.*functools.partial"),
        (
            scipy.interpolate.CubicSpline([0.0, 1.0, 2.0], [0.0, 1.0, 4.0]),
            "the content of an array must be known while compiling",
        ),
        (pickle.dumps, "cannot be pickled"),
        (
            lambda x: struct.pack("d", x),
            "the value of a number that is converted to float or complex must be known .*mo.callback",
        ),
        (
            lambda x: {str(x): 1.0},
            "a string formatted from numbers that are not known while compiling cannot be a dict key",
        ),
    ],
)
def test_what_is_refused(f, text, target):
    with pytest.raises(mo.BadInput, match=text):
        mo.jit(f, target=target)(1.0)


of_module = mo.jit(three, target="native", bounds_check=False, overflow_check=False)


def test_copies_and_pickles():
    assert copy.copy(of_module)(2.0, 3.0) == copy.deepcopy([of_module])[0](2.0, 3.0) == 7.0
    restored = pickle.loads(pickle.dumps(of_module))
    assert restored(2.0, 3.0) == 7.0 and restored.target == "native" and restored.checks == of_module.checks
    assert pickle.loads(pickle.dumps(Compiled(4.0).method))(3.0) == 13.0
    assert pickle.loads(pickle.dumps(mo.jit(Scale(4.0))))(3.0) == 13.0
    with pytest.raises((pickle.PicklingError, AttributeError)):
        pickle.dumps(mo.jit(lambda x: x))
