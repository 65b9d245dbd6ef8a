"""What LLVM makes of a module is used only if it is valid."""

from __future__ import annotations

import ctypes

import pytest

from morula.core.emit.native import machine
from morula.core.errors import BadInput

MODULE = """
define double @twice(double %x) {
  %y = fadd double %x, %x
  ret double %y
}
"""
INVALID = """
define double @f(double %x, i1 %c) {
entry:
  br i1 %c, label %one, label %two
one:
  %y = fadd double %x, %x
  br label %two
two:
  ret double %y
}
"""


def test_a_value_used_before_its_definition_is_invalid():
    machine.host()
    assert machine._is_valid(machine.llvm.parse_assembly(MODULE))
    assert not machine._is_valid(machine.llvm.parse_assembly(INVALID))


def test_a_module_that_becomes_invalid_is_compiled_without_the_vectoriser_of_straight_line_code(monkeypatch):
    modes, create = [], machine.llvm.create_pass_builder

    def create_and_note(of_machine, options):
        modes.append(options.slp_vectorization)
        return create(of_machine, options)

    monkeypatch.setattr(machine.llvm, "create_pass_builder", create_and_note)
    monkeypatch.setattr(machine, "_is_valid", lambda module: len(modes) == 2)
    loaded = machine.Loaded(machine.object_code(MODULE, machine.host()), {})
    assert modes == [True, False]
    assert ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)(loaded.address("twice"))(1.5) == 3.0


def test_a_module_that_becomes_invalid_in_any_case_is_refused(monkeypatch):
    monkeypatch.setattr(machine, "_is_valid", lambda module: False)
    with pytest.raises(
        BadInput, match="LLVM's optimisation passes made an invalid program of this function.*differentiate it eagerly"
    ):
        machine.object_code(MODULE, machine.host())
