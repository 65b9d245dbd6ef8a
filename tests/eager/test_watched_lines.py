"""Code that C calls back is watched line by line: a store is noticed on whichever line it happens, and only then."""

from __future__ import annotations

import contextlib
import sys

import pytest

import morula as mo

KEPT: list = []
BOX: dict = {}


class Kept:
    value = 1.0


def remember(value):
    KEPT.append(value)
    return True


def on_a_line_of_its_own(key):
    if key.stores:
        KEPT.append(key.w * 3.0)
    return True


def in_one_line(key): return bool(key.stores and [KEPT.append(key.w * 3.0)]) or True  # fmt: skip # noqa: E704


def by_a_lambda(key):
    keep = lambda v: KEPT.append(v)  # noqa: E731
    if key.stores:
        keep(key.w * 3.0)
    return True


def in_an_expression_of_several_lines(key):
    return all(
        (
            key.w == key.w,
            not key.stores or remember(key.w * 3.0),
        )
    )


def in_a_loop(key):
    for k in range(3):
        if key.stores and k == 2:
            KEPT.append(key.w * 3.0)
    return True


def in_a_handler(key):
    try:
        if key.stores:
            raise ValueError
    except ValueError:
        KEPT.append(key.w * 3.0)
    finally:
        key = None
    return True


def in_a_generator_that_is_resumed(key):
    def parts():
        yield key.w
        if key.stores:
            KEPT.append(key.w * 3.0)
        yield key.w

    return len([*parts()]) == 2


def in_a_comprehension(key):
    return [KEPT.append(v) for v in (key.w * 3.0,) if key.stores] != None


def in_a_function_of_a_module(key):
    if key.stores:
        sys.modules[__name__].remember(key.w * 3.0)
    return True


def in_a_class(key):
    if key.stores:
        Kept.value = key.w * 3.0
    return True


def in_an_item(key):
    if key.stores:
        BOX["w"] = key.w * 3.0
    return True


def under_a_manager(key):
    with contextlib.nullcontext() as _:
        if key.stores:
            KEPT.append(key.w * 3.0)
    return True


def in_an_attribute_before_another_line(key):
    if key.stores:
        key.v = key.w * 3.0
        KEPT.append(key.v)
    return True


def after_a_call(key):
    float(key.w)
    abs(key.w)
    if key.stores:
        KEPT.insert(0, key.w * 3.0)
    return True


BODIES = [
    v for v in list(globals().values()) if getattr(v, "__code__", None) and v.__code__.co_varnames[:1] == ("key",)
]


class Key:
    def __init__(self, w, body, stores):
        self.w, self.body, self.stores = w, body, stores

    def __hash__(self):
        return 7

    def __eq__(self, other):
        return self.body(self)


def program(body, stores):
    def f(x):
        del KEPT[:]
        BOX.clear()
        Kept.value = 1.0
        key = Key(x * x, body, stores)
        found = Key(0.0, body, False) in {key: 1.0}
        left = KEPT[0] if KEPT else BOX.get("w", Kept.value)
        return x * left * found

    return f


@pytest.mark.parametrize("traced", [False, True], ids=["", "traced"])
@pytest.mark.parametrize("body", BODIES, ids=lambda f: f.__name__)
def test_what_is_left_behind_is_noticed(body, traced):
    """The derivative is right or refused; right, where nothing is left behind.  So is it under a debugger."""
    before = sys.gettrace()
    if traced:
        sys.settrace(lambda frame, event, arg: None)
    try:
        assert mo.grad(program(body, False))(1.5) == 1.0
        assert program(body, True)(1.5) == pytest.approx(1.5 * 3 * 1.5**2)
        try:
            assert mo.grad(program(body, True))(1.5) == pytest.approx(9 * 1.5**2)
        except mo.NoDerivative as error:
            assert "called by code written in C" in str(error)
        hook = sys.gettrace()
        assert (hook is not None) == traced
    finally:
        sys.settrace(before)


def test_a_frame_that_goes_on_later_is_followed_no_more():
    def lines():
        yield 1.0
        KEPT.append(2.0)
        yield 2.0

    class Lazy:
        made = None

        def __hash__(self):
            self.made = lines()
            return int(next(self.made))

        def __eq__(self, other):
            return self is other

    lazy = Lazy()

    def f(x):
        return x * {lazy: 3.0}[lazy]

    assert mo.grad(f)(2.0) == 3.0
    assert lazy.made.gi_frame.f_trace is None and sys.gettrace() is None
    assert next(lazy.made) == 2.0
