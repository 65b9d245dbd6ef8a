"""What a run has found out about classes is forgotten, also what another thread enters at that moment."""

from __future__ import annotations

import sys
import threading

import pytest

import morula as mo
from morula.core import known


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
