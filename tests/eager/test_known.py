"""Cached facts about classes are dropped when the classes change, also if another thread changes them meanwhile."""

from __future__ import annotations

import sys
import threading

import pytest

import morula as mo
from morula.core.eager.recorded import known
from morula.core.testing.differences import ridders
from morula.core.values.versions import Versions


class Switching(set):
    """A set during the changes of which another thread forgets."""

    def add(self, x):
        known.forget_classes()
        super().add(x)
        known.forget_classes()
        super().add(x)


@pytest.mark.parametrize("already", [(), (int,)], ids=["empty", "filled"])
def test_a_class_that_is_entered_while_another_thread_forgets(already, monkeypatch):
    found = Switching(already)
    monkeypatch.setitem(known._by_name, ("load", "entered_here"), found)
    known.is_plain("load", float, "entered_here")
    known.forget_classes()
    assert not found


class Interrupted(set):
    def add(self, x):
        super().add(x)
        raise KeyboardInterrupt


def test_a_class_that_is_entered_when_an_interrupt_comes(monkeypatch):
    found = Interrupted()
    monkeypatch.setitem(known._by_name, ("load", "entered_here"), found)
    with pytest.raises(KeyboardInterrupt):
        known.is_plain("load", float, "entered_here")
    known.forget_classes()
    assert not found


def test_threads_that_enter_and_forget():
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)

    def work():
        for k in range(300):
            kind = type("Made", (), {"__slots__": ()})
            known.is_plain("load", kind, f"entered_{k % 3}")
            known.enter(f"entered_{k % 3}", kind, work)
            known.forget_classes()

    threads = [threading.Thread(target=work) for _ in range(4)]
    try:
        for t in threads:
            t.start()
        for t in threads:
            t.join()
    finally:
        sys.setswitchinterval(interval)
    known.forget_classes()
    assert not any(found for (_, name), found in known._by_name.items() if name.startswith("entered_"))


def test_a_class_that_is_changed_between_runs_that_other_threads_disturb(monkeypatch):
    """A property that is new is asked, though an earlier run has found that the class has none of that name."""

    class Model:
        def __init__(self, w):
            self.w = w

    def f(x):
        model = Model(x)
        return model.w * model.w

    monkeypatch.setitem(known._by_name, ("load", "w"), Switching())
    assert mo.grad(f)(3.0) == 6.0
    Model.w = property(lambda self: self.v * 2.0, lambda self, value: vars(self).update(v=value))
    assert f(3.0) == 36.0 and mo.grad(f)(3.0) == 24.0


class Base:
    offset = 1.0

    def scaled(self, x):
        return self.w * x


class Changing(Base):
    """A class of a module: what runs find out about it lasts."""

    factor = 2.0

    def __init__(self, w):
        self.w = w

    def __lt__(self, other):
        return self.w < other.w


class Descriptor:
    def __get__(self, x, kind=None):
        return x.w * x.w


class Holder:
    """What becomes a descriptor when its class is changed."""


class Other:
    offset = 4.0

    def scaled(self, x):
        return self.w * x * x


def program(x):
    model = Changing(x * 2.0)
    model.w = model.w * 3.0
    other = Changing(x)
    least = min(model, other)
    return model.scaled(x) + model.w * model.offset + Changing.factor * other.w + least.w


def doubled(self, name, value):
    self.__dict__[name] = value * 2.0


CHANGES = {
    "nothing": [],
    "a method": [(Changing, "scaled", lambda self, x: self.w * self.w * x)],
    "a method of a base": [(Base, "scaled", lambda self, x: self.w * self.w * x)],
    "a static method": [(Changing, "scaled", staticmethod(lambda x: x * x))],
    "a property": [(Changing, "offset", property(lambda self: self.w))],
    "an attribute of the class": [(Changing, "factor", type("OfClass", (), {"__get__": lambda *_: 9.0})())],
    "a property of a base": [(Base, "offset", property(lambda self: self.w))],
    "a descriptor": [(Changing, "offset", Descriptor())],
    "an attribute that is stored": [
        (Changing, "w", property(lambda self: self.v * 2.0, lambda self, value: self.__dict__.update(v=value)))
    ],
    "how attributes are stored": [(Base, "__setattr__", doubled)],
    "how attributes are loaded": [
        (Base, "__getattribute__", lambda self, name: object.__getattribute__(self, name) if name != "offset" else 7.0)
    ],
    "how it is initialised": [(Changing, "__init__", lambda self, w: setattr(self, "w", w * w))],
    "how it is compared": [(Changing, "__lt__", lambda self, other: self.w > other.w)],
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_class_of_a_module_that_is_changed_between_runs(change, monkeypatch):
    def agrees():
        assert mo.grad(program)(0.7) == pytest.approx(derivative(program, 0.7), rel=1e-6)

    for _ in range(2):
        agrees()
    with monkeypatch.context() as changed:
        for cls, name, value in CHANGES[change]:
            changed.setattr(cls, name, value, raising=False)
        for _ in range(2):
            agrees()
    for _ in range(2):
        agrees()


def test_a_class_of_a_module_that_is_given_other_bases_between_runs():
    try:
        for bases in ((Base,), (Other,), (Base,)):
            Changing.__bases__ = bases
            for _ in range(2):
                assert mo.grad(program)(0.7) == pytest.approx(derivative(program, 0.7), rel=1e-6)
    finally:
        Changing.__bases__ = (Base,)


def derivative(f, x):
    return ridders(lambda h: f(x + h), 0.01)[0]


def test_an_attribute_that_becomes_a_descriptor_between_runs(monkeypatch):
    holder = Holder()
    holder.times = lambda y: y
    monkeypatch.setattr(Base, "offset", holder)

    def f(x):
        found = Changing(x).offset
        return found.times(x) if isinstance(found, Holder) else found * x

    assert mo.grad(f)(3.0) == mo.grad(f)(3.0) == 1.0
    holder.__class__ = type("Getting", (Holder,), {"__get__": lambda self, x, kind=None: x.w * x.w})
    assert f(3.0) == 27.0 and mo.grad(f)(3.0) == 27.0


def test_a_class_that_makes_its_instances_otherwise_between_runs(monkeypatch):
    made = type("Plain", (), {"__init__": lambda self, w: setattr(self, "w", w), "__module__": __name__})
    monkeypatch.setitem(globals(), "Plain", made)

    def f(x):
        return made(x).w * x

    assert mo.grad(f)(3.0) == mo.grad(f)(3.0) == 6.0
    made.__new__ = lambda cls, w: Base() if w < 0 else Changing(w * w)
    assert f(3.0) == 27.0 and mo.grad(f)(3.0) == 27.0


def test_a_class_whose_metaclass_is_changed_between_runs(monkeypatch):
    class Meta(type):
        pass

    made = Meta("Made", (), {"__init__": lambda self, w: setattr(self, "w", w)})
    monkeypatch.setitem(globals(), "Made", made)

    def f(x):
        return made(x).w * x

    assert mo.grad(f)(3.0) == mo.grad(f)(3.0) == 6.0
    Meta.__call__ = lambda cls, w: type.__call__(cls, w * w)
    assert f(3.0) == 27.0 and mo.grad(f)(3.0) == 27.0


def test_the_version_of_a_class_changes_with_it_and_with_its_bases():
    class A:
        a = 1.0

    class B(A):
        pass

    versions = Versions()
    assert versions.hold() and B.a == B().a == 1.0
    assert not versions.enter(B) or versions.hold() and versions.hold()
    A.a = 2.0
    assert not len(versions) or not versions.hold()
    versions.clear()
    assert versions.hold()


def test_of_a_class_that_goes_nothing_is_kept():
    def f(x):
        class Local:
            def __init__(self, w):
                self.w = w

            def squared(self):
                return self.w * self.w

        return Local(x).squared()

    entries = sum(len(found) for found in (*known._by_name.values(), known.functions, known.answering))
    mo.grad(f)(3.0)
    first = sum(len(found) for found in (*known._by_name.values(), known.functions, known.answering))
    mo.grad(f)(3.0)
    assert first == sum(len(found) for found in (*known._by_name.values(), known.functions, known.answering)) >= entries


def test_a_class_that_is_changed_before_a_pullback_that_runs_its_code_again(monkeypatch):
    def f(x):
        return mo.checkpoint(lambda x: Changing(x).scaled(x) * Changing(x).offset, x)

    assert mo.grad(f)(3.0) == 6.0
    y, back = mo.vjp(f, 3.0)
    monkeypatch.setattr(Base, "offset", property(lambda self: self.w / 3.0))  # of the same value
    assert y == f(3.0) == 9.0 and back(1.0) == mo.gradient(f, 3.0) == (9.0,)
