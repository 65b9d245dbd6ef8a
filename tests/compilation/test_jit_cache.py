"""Compiled programs on disk: the cache key, storage and eviction."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

import morula
from morula.core.compilation import compilation_cache as cache, targets
from morula.core.ir.builder import Builder
from morula.core.ir.dynamic import Function, Value
from morula.core.ir.typed import FLOAT64, ArrayType, callback

CHECKOUT = str(Path(morula.__file__).parents[1])


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("MORULA_CACHE_DIR", str(tmp_path))
    monkeypatch.delenv("MORULA_CACHE", raising=False)
    return tmp_path / "native"


def program(ufunc=np.add, constant=2.0, kind=FLOAT64, name="x", function=None):
    x = Value(name, kind)
    b = Builder()
    with b.block() as block:
        y = b.ufunc(ufunc, x, b.constant(constant))
        if function is not None:
            (y,) = b.call(callback, [y], [y.type], function=function)
        block.results = [y]
    return Function("f", [x], block)


def test_the_key_is_that_of_the_meaning():
    assert cache.fingerprint(program()) == cache.fingerprint(program(name="y"))
    others = [
        program(np.subtract),
        program(constant=3.0),
        program(constant=np.arange(5.0)),
        program(constant=np.arange(1, 6.0)),
        program(kind=ArrayType(np.dtype(float), (2,))),
        program(kind=ArrayType(np.dtype(np.float32))),
    ]
    keys = [cache.fingerprint(f) for f in (program(), *others)]
    assert len(set(keys)) == len(keys) and None not in keys
    assert cache.fingerprint(program(), "checked") != keys[0]


def test_a_program_that_calls_back_is_of_its_process():
    assert cache.fingerprint(program(function=lambda x: x)) is None


def test_entries_are_found_again_and_damaged_ones_are_not(folder):
    key = "ab" * 32
    assert cache.load("native", key) is None
    cache.store("native", key, b"code")
    assert cache.load("native", key) == b"code" and [p.name for p in folder.iterdir()] == [key]
    (folder / key).write_bytes(b"half of it")
    assert cache.load("native", key) is None


def test_what_was_not_used_for_longest_goes_first(folder, monkeypatch):
    keys = [f"0000000{i}" * 8 for i in (1, 2, 3)]
    for age, key in enumerate(keys):
        cache.store("native", key, bytes(1000))
        os.utime(folder / key, (1000 + age, 1000 + age))
    cache.load("native", keys[0])
    monkeypatch.setenv("MORULA_CACHE_SIZE", str(3000 / 2**20))
    cache.shrink(folder)
    assert sorted(p.name for p in folder.iterdir()) == [keys[0], keys[2]]


@pytest.mark.parametrize("target", ["native", "xla"])
def test_a_program_that_was_compiled_is_loaded(target, folder, monkeypatch):
    first = targets.compile_for(target, program(), True)
    assert first([1.5]) == [3.5] and len(list(folder.with_name(target).iterdir())) == 1
    emit = import_module(f"morula.core.emit.{target}")

    def never(*args, **kwargs):
        raise AssertionError("compiled again")

    monkeypatch.setattr(emit, "compile_function", never)
    assert targets.compile_for(target, program(), True)([2.5]) == [4.5]
    with pytest.raises(AssertionError, match="compiled again"):
        targets.compile_for(target, program(constant=7.0), True)


@pytest.mark.parametrize("dtype", ["f8", "f4", "c16", "i8", "?"])
def test_a_loaded_program_takes_arrays_as_quickly_as_the_one_that_was_saved(dtype, monkeypatch):
    kind = ArrayType(np.dtype(dtype), (3,))
    x = np.ones(3, dtype)
    saved = targets.compile_for("native", program(ufunc=np.equal, constant=x, kind=kind), True)

    def never(*args):
        raise AssertionError("the arguments are converted one by one, in Python")

    monkeypatch.setattr(type(saved), "_converted", never)
    loaded = type(saved).from_bytes(saved.to_bytes())
    assert loaded([x])[0].tolist() == [True] * 3


PROGRAM = """
import sys
from importlib import import_module

import numpy as np

import morula as mo

def spiral(x, steps):
    while steps > 0:
        x, steps = x + 0.1 * x[::-1] * np.array([-1.0, 1.0]), steps - 1
    return np.sum(x**2)

if sys.argv[1] == "second":
    def never(*args, **kwargs):
        raise AssertionError("compiled again")
    for target in ("native", "xla"):
        import_module(f"morula.core.emit.{target}").compile_function = never
print([mo.jit(mo.grad(spiral), target=t)(np.array([1.0, 2.0]), 3).tolist() for t in ("native", "xla")])
"""


def test_the_next_process_compiles_nothing(folder, tmp_path):
    script = tmp_path / "program.py"
    script.write_text(PROGRAM)

    def run(which):
        command = [sys.executable, str(script), which]
        done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": CHECKOUT})
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert run("first") == run("second")
    assert [len(list(folder.with_name(target).iterdir())) for target in ("native", "xla")] == [1, 1]


def test_a_folder_stays_within_its_bound(folder, monkeypatch):
    monkeypatch.setenv("MORULA_CACHE_SIZE", str(10_000 / 2**20))
    for i in range(1, 31):
        cache.store("native", f"{i:08x}" * 8, bytes(1000))
        assert sum(p.stat().st_size for p in folder.iterdir()) <= 10_000


def test_a_program_that_cannot_be_saved_or_loaded_is_compiled(folder):
    made = program(function=lambda x: x * 2)
    assert targets.compile_for("native", made, True)([1.0]) == [6.0] and not folder.exists()
    targets.compile_for("native", program(), True)
    (only,) = folder.iterdir()
    cache.store("native", only.name, b"of another version")
    assert targets.compile_for("native", program(), True)([1.0]) == [3.0]


def test_the_cache_can_be_turned_off_and_need_not_be_writable(folder, monkeypatch):
    folder.parent.joinpath("native").write_text("a file where the folder should be")
    cache._warned.cache_clear()
    with pytest.warns(RuntimeWarning, match="cannot be cached on disk"):
        cache.store("native", "ab" * 32, b"code")
    assert cache.load("native", "ab" * 32) is None
    monkeypatch.setenv("MORULA_CACHE", "0")
    assert cache.folder("native") is None
    cache.store("native", "ab" * 32, b"code")


def test_the_folder_is_the_users(monkeypatch):
    monkeypatch.delenv("MORULA_CACHE", raising=False)
    monkeypatch.delenv("MORULA_CACHE_DIR", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", os.sep + "somewhere")
    monkeypatch.setattr(cache.sys, "platform", "linux")
    assert str(cache.folder("xla")) == os.path.join(os.sep + "somewhere", "morula", "xla")
