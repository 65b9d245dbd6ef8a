"""Attributes that exist on one path only: of arguments, of objects from outside, read through ``__dict__``; names of classes."""

from __future__ import annotations

import pytest
from path_tester import check_gradient, check_value

import morula as mo

COMPILED = pytest.mark.parametrize("path", ["native", "xla"])


class Body:
    """Its energy is computed once, where it is needed."""

    def __init__(self, mass):
        self.mass = mass

    @property
    def energy(self):
        try:
            return self.__dict__["energy_"]
        except KeyError:
            self.__dict__["energy_"] = found = 3.0 * self.mass
            return found


EARTH = Body(2.0)


def with_outside(x):
    return x * EARTH.energy if x > 1.0 else x


@COMPILED
def test_a_value_that_is_cached_outside_on_one_path(path):
    EARTH.__dict__.pop("energy_", None)
    compiled = mo.jit(with_outside, target=path)
    assert compiled(0.5) == 0.5 and "energy_" not in EARTH.__dict__
    assert compiled(2.0) == 12.0 and EARTH.__dict__["energy_"] == 6.0
    EARTH.__dict__["energy_"] = 7.0
    assert compiled(2.0) == 14.0 and compiled(0.5) == 0.5 and EARTH.__dict__["energy_"] == 7.0
    del EARTH.__dict__["energy_"]
    assert mo.grad(compiled)(2.0) == 6.0


def marked(body, x):
    if x > 1.0:
        body.mark = x
    return body.mass * x


def unmarked(body, x):
    body.mark = 5.0
    if x > 1.0:
        del body.mark
    return body.mass * x


@COMPILED
@pytest.mark.parametrize("f", [marked, unmarked])
@pytest.mark.parametrize("x", [0.5, 2.0])
def test_an_attribute_of_an_argument_that_is_set_on_one_path(path, f, x):
    for has_mark in (False, True):
        expected, given = Body(2.0), Body(2.0)
        if has_mark:
            expected.mark = given.mark = 9.0
        assert mo.jit(f, target=path)(given, x) == f(expected, x)
        assert vars(given) == vars(expected)


def cached_inside(x):
    body = Body(x)
    if x > 1.0:
        body.energy  # noqa: B018
    return body.energy * body.energy


@COMPILED
@pytest.mark.parametrize("x", [0.5, 2.0])
def test_a_dict_of_attributes_is_read_by_name(path, x):
    check_gradient(path, cached_inside, x)


def order(x):
    body = Body(x)
    if x > 1.0:
        body.a, body.b = x, x
    else:
        body.b, body.a = x, x
    return list(body.__dict__)


def order_in_a_loop(x):
    names = []
    for i in range(3):
        body = Body(x)
        held = body.__dict__
        if x > i:
            body.a, body.b = x, x
        else:
            body.b, body.a = x, x
        names = list(held)
    return names


@COMPILED
@pytest.mark.parametrize("x", [0.5, 2.5])
def test_the_order_of_attributes_that_depends_on_a_condition(path, x):
    check_value(path, order, x)
    check_value(path, order_in_a_loop, x)


class _Narrow(ValueError):
    pass


class _Wide(_Narrow):
    pass


def renamed(x):
    if x > 1.0:
        _Narrow.__name__ = "Narrow"
    return _Narrow.__name__, _Wide.__name__, len(_Narrow.__name__) * x


@COMPILED
@pytest.mark.parametrize("x", [0.5, 2.0])
def test_the_name_of_a_class_is_set(path, x):
    try:
        expected = renamed(x), _Narrow.__name__
        _Narrow.__name__ = "_Narrow"
        assert (mo.jit(renamed, target=path)(x), _Narrow.__name__) == expected
    finally:
        _Narrow.__name__ = "_Narrow"


def one_of_two(x):
    error = ValueError(f"{x:.1f}") if x > 2.0 else KeyError("small") if x > 1.0 else None
    if error is not None:
        raise error
    return x


@COMPILED
@pytest.mark.parametrize(("x", "kind"), [(3.0, ValueError), (1.5, KeyError)])
def test_an_exception_of_one_of_two_classes_is_raised(path, x, kind):
    with pytest.raises(kind):
        mo.jit(one_of_two, target=path)(x)
    check_value(path, one_of_two, 0.5)


def builtin_error(x):
    try:
        raise ValueError(value=x)
    except TypeError:
        return 2 * x


@COMPILED
def test_an_exception_that_takes_no_names_is_pythons_error(path):
    check_gradient(path, builtin_error, 1.5)


def end_replaced(x, n):
    items, i = [x, 2 * x, 3 * x], 3
    while i > n:
        i -= 1
    items[i:] = 5 * x, 7 * x
    return sum(items) * len(items)


@COMPILED
@pytest.mark.parametrize("n", [0, 1, 3, -1])
def test_the_end_of_a_list_is_replaced(path, n):
    check_gradient(path, lambda x: end_replaced(x, n + 0 * int(x)), 1.5)
