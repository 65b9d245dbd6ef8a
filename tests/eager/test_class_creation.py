"""Classes created in a run: their names, computations in their bodies, and values stored by hooks."""

from __future__ import annotations

import pytest

import morula as mo


def test_what_is_defined_in_a_run_bears_the_names_that_python_gives():
    def f(x, seen):
        class Outer:
            class Inner:
                def method(self):
                    return x

        def nested():
            return [lambda: x]

        seen.append((Outer.__qualname__, Outer.Inner.__qualname__, Outer.Inner.method.__qualname__, repr(Outer)))
        seen.append((nested.__qualname__, nested()[0].__qualname__, nested.__module__, nested.__code__.co_qualname))
        seen.append((Outer.__module__, type("Made", (), {}).__module__))
        return Outer.Inner().method() * nested()[0]()

    plain, recorded = [], []
    f(1.5, plain)
    assert mo.gradient(lambda x: f(x, recorded), 1.5) == (3.0,)
    assert recorded == plain


class Hooked:
    def __init_subclass__(cls, factor=1.0):
        cls.factor = factor * factor


class Attribute:
    def __init__(self, x):
        self.x = x

    def __set_name__(self, owner, name):
        setattr(owner, f"{name}_doubled", self.x * 2)


class Prepared(type):
    def __new__(mcs, name, bases, namespace, k=0.0):
        return super().__new__(mcs, name, bases, namespace)

    def __init__(cls, name, bases, namespace, k=0.0):
        super().__init__(name, bases, namespace)
        cls.k = k * k


def with_a_base(x):
    class Made(Hooked, factor=x):
        pass

    return Made.factor * 1.0


def with_an_attribute(x):
    class Made:
        a = Attribute(x)

    return Made.a_doubled * 1.0


def with_a_metaclass(x):
    class Made(metaclass=Prepared, k=x):
        pass

    return Made.k * 1.0


def by_type(x):
    return type("Made", (), {"a": Attribute(x)}).a_doubled * 1.0


@pytest.mark.parametrize("f", [with_a_base, with_an_attribute, with_a_metaclass, by_type])
def test_what_hooks_compute_while_a_class_is_made_is_refused(f):
    with pytest.raises(mo.NoDerivative, match=r"Made, called at .*test_class_creation.py"):
        mo.gradient(f, 1.5)


def test_what_the_body_of_a_class_computes_keeps_its_derivative(check):
    def f(x, y):
        class Made(Hooked):
            a = x * y
            b, c = x, [y]
            if x > 0:
                d = a * 3
            k = 2.0

            def m(self):
                return self.a * self.b * self.k

        return Made().m() + Made.c[0] * Made.d + type("T", (Hooked,), {"e": x * x}).e

    check(f, 1.5, 0.7)


def test_a_decorator_that_is_imported_within_the_function(check):
    def f(x):
        from dataclasses import dataclass

        @dataclass
        class Pair:
            a: float
            b: float = 2.0

        names = {"y": x}
        exec("z = y", {}, names)
        return Pair(x).a * Pair(x, x).b * names["z"]

    check(f, 1.3)
