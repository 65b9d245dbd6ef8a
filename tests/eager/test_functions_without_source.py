"""A function without source may store its results anywhere; its derivative is never silently zero."""

from __future__ import annotations

from collections import namedtuple
from dataclasses import dataclass

import numpy as np
import pytest

import morula as mo

UNREAD: dict = {}
exec(
    """
total = 0.0

def square(x):
    for _ in range(1):
        return x * x

def in_a_dict(x):
    return {"a": [x * x]}

def into_attribute(o, x):
    o.x = x * x

def into_list(values, x):
    values.append(x * x)

def into_array(o, x):
    o.a[0] = x * x

def into_global(x):
    global total
    total = x * x

def remember(memory={}):
    def f(x):
        memory["x"] = x * x
    return f, memory

class Square:
    def __init__(self, x):
        self.x = x * x

class Holder:
    def __init__(self, x):
        self.x = x

    def get(self):
        return self.x

def swap(o):
    o.x, o.y = o.y, o.x
    return o
""",
    UNREAD,
)


class Empty:
    pass


def attribute(x):
    o = Empty()
    UNREAD["into_attribute"](o, x)
    return o.x * 1.0


def listed(x):
    values = [1.0]
    UNREAD["into_list"](values, x)
    return values[1] * 1.0


def entry(x):
    o = Empty()
    o.a = np.zeros(2)
    UNREAD["into_array"](o, x)
    return o.a.sum()


def global_variable(x):
    UNREAD["into_global"](x)
    return UNREAD["total"] * 1.0


def closure(x):
    f, memory = UNREAD["remember"]()
    f(x)
    return memory["x"] * 1.0


COMPUTING = {
    "result": lambda x: UNREAD["square"](x) * 1.0,
    "result in a container": lambda x: UNREAD["in_a_dict"](x)["a"][0] * 1.0,
    "attribute": attribute,
    "list": listed,
    "array in an object": entry,
    "global": global_variable,
    "closure": closure,
    "constructor": lambda x: UNREAD["Square"](x).x * 1.0,
}


@pytest.mark.parametrize("name", COMPUTING)
def test_what_it_computes_is_refused_wherever_it_is_kept(name):
    with pytest.raises(mo.NoDerivative, match=r"<string>.*called at .*test_functions_without_source.py"):
        mo.gradient(COMPUTING[name], 1.5)
    # A constant that it computes is one.
    assert mo.gradient(lambda x: COMPUTING[name](2.0) * x, 1.5) == (4.0,)


def swapped(x):
    o = Empty()
    o.x, o.y, o.a = x, 2.0, np.ones(2) * x
    return UNREAD["swap"](o).y * o.x * o.a.sum()


Pair = namedtuple("Pair", "a b")


@dataclass(order=True)
class Point:
    a: float
    b: float = 2.0


MOVING = {
    "swapped": (swapped, 8 * 1.5),
    "held": (lambda x: UNREAD["Holder"](x * x).get() * 1.0, 3.0),
    "named tuple": (lambda x: Pair(x * x, b=x).a * Pair._make([1.0, x])[1], 3 * 1.5**2),
    "dataclass": (lambda x: Point(x * x).a * Point(1.0, x).b * (Point(x) < Point(9.0)), 3 * 1.5**2),
}


@pytest.mark.parametrize("name", MOVING)
def test_what_it_only_moves_keeps_its_derivative(name):
    f, slope = MOVING[name]
    assert mo.gradient(f, 1.5) == (pytest.approx(slope),)


def test_generated_code_that_claims_the_place_of_another_function(check):
    """As packages do for the signature of a wrapper: file, line and name are those of the function that it calls."""

    def scaled(*args, **kwargs):
        return args[0] * kwargs["by"]

    code = scaled.__code__
    text = "\n" * (code.co_firstlineno - 1) + "def scaled(x, by):\n    return wrapped(x, by=by)\n"
    scope = {"wrapped": scaled}
    exec(compile(text, code.co_filename, "exec"), scope)
    check(lambda x: scope["scaled"](x, x * x), 1.5)
