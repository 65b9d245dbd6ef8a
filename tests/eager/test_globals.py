"""Globals: those that a run writes carry derivatives, and redefinitions are noticed."""

from __future__ import annotations

import importlib
import os
import sys
import time
import types
from unittest import mock

import numpy as np
import pytest

import morula as mo
from morula.core.eager.rewriting.instrument import template_of

NUMBER = 1.0
WEIGHTS = [0.5, 0.5]
VECTOR = np.zeros(2)
TABLE = {"k": 1.0}
MODULE = types.ModuleType("MODULE")
MODULE.c = 1.0


class Settings:
    rate = 1.0


def number():
    return NUMBER * 2


def entry():
    return VECTOR[0] * 2


def total():
    return VECTOR.sum() * 2


def looked_up():
    return TABLE["k"] * 2


def of_class():
    return Settings.rate * 2


def of_module():
    return MODULE.c * 2


def by_statement(x):
    global NUMBER
    NUMBER = x * x
    return number() * 1.0


def by_globals(x):
    globals()["NUMBER"] = x * x
    return number() * 1.0


def by_update(x):
    globals().update(NUMBER=x * x)
    return number() * 1.0


def into_entry(x):
    VECTOR[:] = 0.0
    before = entry() * x
    VECTOR[0] = x * x
    return entry() * 1.0 + before


def into_view(x):
    VECTOR[:] = 0.0
    np.multiply(x, x, out=VECTOR[1:])
    return total() * 1.0


def new_array(x):
    global VECTOR
    kept, VECTOR = VECTOR, np.ones(2) * x
    try:
        return entry() * total() * 0.25 * 1.0
    finally:
        VECTOR = kept


def into_table(x):
    TABLE["k"] = x * x
    return looked_up() * 1.0


def into_class(x):
    Settings.rate = x * x
    return of_class() * 1.0


def into_module(x):
    MODULE.c = x * x
    return of_module() * 1.0


def into_module_by_name(x):
    setattr(MODULE, "c", x * x)
    return of_module() * 1.0


WRITING = (by_statement, by_globals, by_update, into_entry, into_view, new_array, into_table, into_class, into_module)


@pytest.mark.parametrize("f", (*WRITING, into_module_by_name))
def test_a_global_that_the_run_writes_carries_the_derivative(f):
    for _ in range(2):
        assert mo.gradient(f, 1.5) == (pytest.approx(6.0),)
        assert mo.gradient(lambda x: mo.grad(f)(x) * 1.0, 1.5) == (pytest.approx(4.0),)


def counting(x):
    global NUMBER
    for k in range(40):
        NUMBER = NUMBER + 1
        x = x + number() * 0.0 * k
    return x * x


def test_a_list_that_keeps_changing_is_read_each_time_and_nothing_is_rewritten(monkeypatch):
    def f(x):
        return sum([w * x for w in WEIGHTS]) + 0.0 * WEIGHTS.count(x)

    assert mo.grad(f)(3.0) == 1.0
    rewritten = template_of(f)
    for k in (2.0, 3.0):
        monkeypatch.setitem(globals(), "WEIGHTS", [k, k])
        assert mo.grad(f)(3.0) == 2 * k
        assert template_of(f) is rewritten
    monkeypatch.setitem(globals(), "WEIGHTS", (5.0,))
    assert mo.grad(f)(3.0) == 5.0


def test_a_global_that_keeps_changing_is_read_each_time():
    assert mo.gradient(counting, 1.5) == (3.0,)


def double(x):
    return x * 2


def square(x):
    return x * x


def recorded(x):
    return [double(x)][0]


def structured(x):
    return double(x) * 1.0


def scaled(x, k=2.0):
    return x * k


def scaled_square(x, k=2.0):
    return x * x * k


@pytest.mark.parametrize("caller", [recorded, structured])
def test_a_global_function_that_is_redefined_is_noticed(caller, monkeypatch):
    assert mo.gradient(caller, 1.5) == (2.0,)
    monkeypatch.setitem(globals(), "double", square)
    assert mo.gradient(caller, 1.5) == (3.0,)


@pytest.mark.parametrize(
    "caller", [lambda x: [scaled(x)][0], lambda x: scaled(x) * 1.0, lambda x: scaled(x, scaled.__defaults__[0]) * 1.0]
)
def test_code_and_defaults_that_are_replaced_are_noticed(caller, monkeypatch):
    assert mo.gradient(caller, 1.5) == (2.0,)
    monkeypatch.setattr(scaled, "__code__", scaled_square.__code__)
    assert mo.gradient(caller, 1.5) == (6.0,)
    monkeypatch.setattr(scaled, "__defaults__", (3.0,))
    assert mo.gradient(caller, 1.5) == (9.0,)


def called_with_code_of_its_own(x):
    return double(x) * 1.0


def test_code_that_is_replaced_is_noticed_by_a_compiled_caller(monkeypatch):
    assert mo.gradient(called_with_code_of_its_own, 1.5) == (2.0,)
    monkeypatch.setattr(double, "__code__", square.__code__)
    assert mo.gradient(called_with_code_of_its_own, 1.5) == (3.0,)


CONFIGURATION = types.ModuleType("CONFIGURATION")
CONFIGURATION.k = 2.0


class Model:
    scale = 2.0

    def __init__(self, x):
        self.x = x

    @property
    def k(self):
        return self.x * self.x

    def apply(self, x):
        return x * self.scale


def configured(x):
    values = [x]
    return values[0] * CONFIGURATION.k


def test_a_module_that_an_object_takes_the_place_of_is_noticed(monkeypatch):
    def f(x):
        monkeypatch.setitem(globals(), "CONFIGURATION", Model(x))
        return configured(x)

    assert mo.gradient(configured, 1.5) == (2.0,)
    assert mo.gradient(f, 1.5) == (pytest.approx(3 * 1.5**2),)


def test_methods_and_constants_of_a_class_may_change_between_runs(monkeypatch):
    def f(x):
        return Model(x).apply(x)

    assert mo.gradient(f, 1.5) == (2.0,)
    monkeypatch.setattr(Model, "scale", 5.0)
    assert mo.gradient(f, 1.5) == (5.0,)
    monkeypatch.setattr(Model, "apply", lambda self, x: x * self.x)
    assert mo.gradient(f, 1.5) == (3.0,)


def patched_by_assignment(m, x):
    Model.apply = lambda self, x: x**3


def patched_by_type(m, x):
    type.__setattr__(Model, "apply", lambda self, x: x**3)


def patched_by_deletion(m, x):
    m.apply = lambda x: x**3
    del m.apply
    m.apply = lambda x: x**3


@pytest.mark.parametrize("patch", [patched_by_assignment, patched_by_type, patched_by_deletion])
def test_methods_may_change_in_the_midst_of_a_run(patch):
    def f(x):
        m = Model(x)
        original = Model.apply
        y = m.apply(x)
        patch(m, x)
        y += m.apply(x)
        Model.apply = original
        m.apply = lambda x: x * 7
        y += m.apply(x)
        del m.apply
        return y + m.apply(x)

    assert mo.gradient(f, 1.5) == (pytest.approx(2 + 6.75 + 7 + 2),)
    assert Model.apply(Model(1.0), 1.0) == 2.0


def test_a_mock_holds_while_it_is_in_force():
    def f(x):
        m = Model(x)
        with mock.patch.object(Model, "apply", lambda self, x: x**3):
            y = m.apply(x)
        return y + m.apply(x)

    assert mo.gradient(f, 1.5) == (pytest.approx(6.75 + 2),)


VERSIONS = (
    "c = 2.0\ndef f(x): return x * c\ndef g(x): return [x * c][0]\n",
    "c = 3.0\n\n\ndef f(x): return x * x * c\ndef g(x): return [x * x * c][0]\n",
    "c = 3.0\n\n\ndef f(x): return x * x * x\ndef g(x): return [x * x * x][0]\n",
)


@pytest.fixture
def module(tmp_path, monkeypatch):
    """A module of which other versions can be written, one each second as far as its file tells."""
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    path = tmp_path / "written_for_this_test.py"
    now = time.time()

    def write(version):
        path.write_text(VERSIONS[version])
        os.utime(path, (now + version, now + version))

    write(0)
    yield importlib.import_module("written_for_this_test"), write
    del sys.modules["written_for_this_test"]


def test_a_module_that_is_reloaded_is_read_again(module):
    m, write = module

    def both(x):
        return m.f(x) + m.g(x)

    for version, slope in ((0, 4.0), (1, 18.0), (2, 13.5)):
        write(version)
        importlib.reload(m)
        assert mo.gradient(both, 1.5) == (slope,)
        assert mo.gradient(m.f, 1.5) == mo.gradient(m.g, 1.5) == (slope / 2,)


def test_a_file_that_has_changed_since_its_import_is_not_taken_for_the_code_that_runs(module):
    m, write = module
    write(1)
    for f in (m.f, m.g):
        with pytest.raises(mo.BadInput, match="changed since it was imported.*reload"):
            mo.gradient(f, 1.5)
    write(0)
    assert mo.gradient(m.g, 1.5) == (2.0,)
