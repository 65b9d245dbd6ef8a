"""Values that are neither numbers, arrays nor their containers: constants of a program, unless they can change or hold numbers."""

from __future__ import annotations

import functools
from collections import OrderedDict
from types import MappingProxyType

import pytest

import morula as mo


@pytest.mark.parametrize(
    "view",
    [{"a": 1.0}.values(), OrderedDict(a=1.0).values(), MappingProxyType({"a": 1.0}).values(), MappingProxyType({})],
    ids=lambda x: type(x).__name__,
)
def test_a_view_of_a_dict_is_refused(view):
    with pytest.raises(mo.BadInput, match=f"a {type(view).__qualname__} shows a dict that may change; pass list"):
        mo.jit(lambda v: 1.0)(view)


def test_a_memoryview_is_refused():
    with pytest.raises(mo.BadInput, match="memoryview .* is a compile-time constant"):
        mo.jit(lambda v: v[0])(memoryview(bytearray(b"ab")))


@mo.jit
def total(values):
    return sum(v * v for v in values)


@functools.partial(mo.jit, static_argnums=1)
def power(x, n):
    return x**n


PROGRAMS = {
    "frozenset": (lambda x: total(frozenset([x])), 6.0),
    "set": (lambda x: total({x}), 6.0),
    "in a container": (lambda x: total([*[frozenset([x])][0]]), 6.0),
    "static argument": (lambda x: power(2.0, x), 8.0 * 0.6931471805599453),
    "both": (lambda x: power(x, x), 27.0 * (1.0 + 1.0986122886681098)),
}


@pytest.mark.parametrize(("f", "slope"), PROGRAMS.values(), ids=PROGRAMS)
def test_numbers_in_static_values_have_their_derivative(f, slope):
    for _ in range(2):
        assert mo.grad(f)(3.0) == pytest.approx(slope)
        assert mo.vjp(f, 3.0)[1](1.0)[0] == pytest.approx(slope)


class Holder:
    pass


def cached(s):
    return functools.cache(lambda x: x * s)


def bound(s):
    return functools.partial(lambda x, y: x * y * s, 2.0)


def held(s):
    h = Holder()
    h.f = functools.cache(lambda x: x * s)
    return h


@pytest.mark.parametrize("f", [cached, bound, held])
def test_a_returned_object_that_holds_a_function_of_the_program_is_refused(f):
    with pytest.raises(mo.BadInput, match="which holds numbers or functions of the program; return these themselves"):
        mo.jit(f)(2.0)
