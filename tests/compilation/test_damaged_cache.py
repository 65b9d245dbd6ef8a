"""Damaged cache entries are rebuilt; a cache folder that cannot be written gives one warning."""

from __future__ import annotations

import threading
import warnings

import numpy as np
import pytest

import morula as mo
from morula.core.compilation import compilation_cache as cache

A = np.arange(3.0)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("MORULA_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.delenv("MORULA_CACHE", raising=False)
    cache._warned.cache_clear()
    yield tmp_path / "cache"
    cache._warned.cache_clear()


def f(x):
    return np.sum(np.sin(x) * 2.0)


DAMAGES = {
    "empty": lambda data: b"",
    "truncated": lambda data: data[:-7],
    "only the digest": lambda data: data[:32],
    "a changed bit": lambda data: data[:100] + bytes([data[100] ^ 1]) + data[101:],
    "something else": lambda data: b"x" * 500,
    "twice": lambda data: data + data,
}


@pytest.mark.parametrize("name", DAMAGES)
def test_a_damaged_entry_is_replaced(name, folder, target):
    assert mo.jit(f, target=target)(A) == pytest.approx(f(A))
    entries = [path for path in folder.rglob("*") if path.is_file()]
    whole = {path: path.read_bytes() for path in entries}
    assert entries
    for path, data in whole.items():
        path.write_bytes(DAMAGES[name](data))
    assert mo.jit(f, target=target)(A) == pytest.approx(f(A))
    for path, data in whole.items():
        digest, content = path.read_bytes()[:32], path.read_bytes()[32:]
        assert cache.hashlib.sha256(content).digest() == digest and abs(len(content) + 32 - len(data)) < 2000


def test_writers_at_once_leave_a_whole_entry(folder):
    contents = [bytes([k]) * 200_000 for k in range(4)]
    key = "ab" * 32
    found = []

    def write(content):
        for _ in range(20):
            cache.store("native", key, content)
            found.append(cache.load("native", key) in contents)

    threads = [threading.Thread(target=write, args=(c,), daemon=True) for c in contents]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len(found) == 80 and all(found)
    assert [path.name for path in (folder / "native").iterdir()] == [key]


def test_a_folder_that_cannot_be_written_costs_one_warning(folder, target):
    folder.write_text("a file stands where the folder should be")
    with pytest.warns(RuntimeWarning, match="(?s)cannot be cached.*MORULA_CACHE_DIR"):
        assert mo.jit(f, target=target)(A) == pytest.approx(f(A))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert mo.jit(lambda x: f(x) + 1, target=target)(A) == pytest.approx(f(A) + 1)


def test_no_home_costs_one_warning(monkeypatch, folder):
    def missing():
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("MORULA_CACHE_DIR")
    monkeypatch.setattr(cache, "_of_user", missing)
    with pytest.warns(RuntimeWarning, match="Could not determine home directory"):
        assert mo.jit(f, target="native")(A) == pytest.approx(f(A))
