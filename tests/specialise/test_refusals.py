"""Constructs without compiled form are refused by name, with the user's line and the remedy."""

from __future__ import annotations

import importlib
import inspect
import math
import re
import threading

import numpy as np
import pytest

import morula as mo

A = np.array([0.5, -1.0, 1.5, 2.0])
KEPT: set[int] = set()
LOCK = threading.Lock()


def lengthens(x, n):
    values = []
    for i in range(n):  # here
        values.append(np.full(len(values), x))
    return values


def doubles(a):
    while a.sum() < 100.0:
        a = np.concatenate([a, a])  # here
    return a


def two_kinds(x):
    if x > 0:
        y = lambda: x  # noqa: E731
    else:
        y = x
    return y


def two_lengths(x):
    values = [x]
    if x > 0:
        values.append(lambda: x)
    return values


def shape_from_data(a):
    return np.zeros(int(a[0]))  # here


def key_from_data(x, k):
    table = {}
    table[k] = x  # here
    return table


def keeps_outside(x):
    KEPT.add(1)  # here
    return x


def leaves_a_lock_acquired(x):
    LOCK.acquire()
    return x


def asks_for_a_lock(x):
    return x if LOCK.acquire(False) else -x


def calls_python_and_locks(x):
    with LOCK:
        return mo.callback(math.sin, 0.0, x)


def depends_on_text(x):
    return [1 for _ in f"{x}"]


def never_ends(x):
    n = 0
    while n < 50_000:  # here
        n += 1
    return x + n


async def waits(x):
    return x


REFUSED = [
    (
        doubles,
        (A,),
        r"a is an array of shape \(4,\) .* shape \(8,\) .* allocate the greatest length, and count the entries in use",
    ),
    (
        two_kinds,
        (1.5,),
        "y is the function <lambda> on one path and a number .* on another; give it a value of the same kind",
    ),
    (
        two_lengths,
        (1.5,),
        "a container is a list of length 2 on one path and a list of length 1 on another; give it the same length",
    ),
    (
        lengthens,
        (1.5, 3),
        "values is a list of length 0 before a loop and a list of length 1 after .* make an array of the final length",
    ),
    (
        shape_from_data,
        (A,),
        "the shape of an array must be known while compiling, but depends on the array a; compute it before the call and "
        "pass it as an int",
    ),
    (key_from_data, (1.5, 2.5), "the index or key of a write to a dict must be known .*; use an array"),
    (keeps_outside, (1.5,), "changes a set that is not one of the function's arguments; pass it as an argument"),
    (leaves_a_lock_acquired, (1.5,), "acquires a lock from outside and does not release it, .*; use `with lock:`"),
    (asks_for_a_lock, (1.5,), "calls acquire of a lock from outside, whose result depends on other threads"),
    (calls_python_and_locks, (1.5,), "enters a lock from outside, .* calls Python, which could wait for the lock"),
    (
        depends_on_text,
        (1.5,),
        "a string formatted from numbers that are not known .* cannot be used here.* decide by the numbers",
    ),
    (never_ends, (1.5,), "was unrolled for 20001 iterations; let its condition depend on an argument, or use range"),
    (waits, (1.5,), "waits .* is an async function, which cannot be compiled"),
]


@pytest.mark.parametrize("f, args, text", REFUSED, ids=[f.__name__ for f, _, _ in REFUSED])
def test_a_refusal_names_the_line_the_construct_and_the_remedy(target, f, args, text):
    with pytest.raises(mo.BadInput, match=f"(?s){text}") as refused:
        mo.jit(f, target=target)(*args)
    lines, first = inspect.getsourcelines(f)
    marked = [first + i for i, line in enumerate(lines) if line.endswith("# here\n")]
    if marked:
        assert re.search(rf"in {f.__name__} \({re.escape(__file__)}:{marked[0]}\)", str(refused.value))
    assert str(refused.value).count(__file__) <= 1


def test_a_construct_in_an_installed_package_is_told_with_the_users_line(tmp_path, monkeypatch):
    folder = tmp_path / "site-packages"
    folder.mkdir()
    (folder / "package_of_others.py").write_text(
        "def keyed(x):\n    found = {}\n    found[x] = 1.0\n    return found\n"
    )
    monkeypatch.syspath_prepend(str(folder))
    keyed = importlib.import_module("package_of_others").keyed

    def uses(x):
        return len(keyed(x * 2.0))

    with pytest.raises(mo.BadInput) as refusal:
        mo.jit(uses)(0.5)
    what, library, users = str(refusal.value).split("\n")
    assert what.startswith("the index or key of a write to a dict must be known while compiling")
    assert re.fullmatch(r"  in keyed \(.*package_of_others.py:3\)", library)
    assert re.fullmatch(
        r"  in .*uses \(.*test_refusals.py:\d+\), which calls the library; mo.jit\(partial=True\) runs such parts in Python",
        users,
    )
