"""What is said on stderr while a program is compiled."""

from __future__ import annotations

import threading

import pytest

import morula as mo
from morula.core.compilation import progress


class AtOnce(threading.Timer):
    """A timer whose time is over as it starts."""

    def start(self):
        self.function(*self.args)


@pytest.fixture(autouse=True)
def slow(monkeypatch):
    monkeypatch.setattr(progress, "Timer", AtOnce)


def doubled(x):
    return 2.0 * x


def test_it_names_the_function_its_file_and_line(monkeypatch, capsys):
    monkeypatch.setenv("MORULA_PROGRESS", "1")
    mo.jit(doubled, target="native")(1.5)
    line = doubled.__code__.co_firstlineno
    first, second = capsys.readouterr().err.splitlines()
    assert first.startswith(f"morula: tracing doubled ({__file__}:{line})")
    assert second.startswith(f"morula: generating code for doubled ({__file__}:{line})")


@pytest.mark.parametrize("given, is_terminal, is_said", [("0", True, False), (None, True, True), (None, False, False)])
def test_it_says_so_in_terminals_unless_turned_off(given, is_terminal, is_said, monkeypatch, capsys):
    monkeypatch.delenv("MORULA_PROGRESS", raising=False)
    if given is not None:
        monkeypatch.setenv("MORULA_PROGRESS", given)
    monkeypatch.setattr("sys.stderr.isatty", lambda: is_terminal)
    mo.jit(doubled, target="native").lower(1.5)
    assert ("tracing doubled" in capsys.readouterr().err) == is_said


def test_it_says_nothing_if_the_time_is_not_over(monkeypatch, capsys):
    monkeypatch.setenv("MORULA_PROGRESS", "1")
    monkeypatch.setattr(progress, "Timer", threading.Timer)
    mo.jit(doubled, target="native")(1.5)
    assert capsys.readouterr().err == ""


def test_it_compiles_where_no_thread_can_be_started(monkeypatch, capsys):
    def refuse(self):
        raise RuntimeError("can't start new thread")

    monkeypatch.setenv("MORULA_PROGRESS", "1")
    monkeypatch.setattr(AtOnce, "start", refuse)
    assert mo.jit(doubled, target="native")(1.5) == 3.0
