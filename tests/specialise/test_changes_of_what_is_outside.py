"""Changes of lists, dicts, objects and variables that are not arguments: compiled code makes them as Python does, at each call."""

from __future__ import annotations

import threading
import warnings
from types import SimpleNamespace

import numpy as np
import pytest

import morula as mo

LOG: list = []
CACHE: dict = {}
TABLE: dict = {}
STATE = SimpleNamespace()
SEEN: set = set()
TOTAL, COUNT, ARRAY = 0.0, 0, np.ones(2)


class Counted:
    count = 0


class Derived(Counted):
    pass


class Slotted:
    __slots__ = ("n", "last")


SLOTTED = Slotted()


def reset():
    global TOTAL, COUNT, ARRAY
    LOG[:] = [0.5]
    CACHE.clear()
    TABLE.clear()
    TABLE.update(n=0, a=np.ones(3), s=1.0, inner={"k": [1.0]})
    vars(STATE).clear()
    vars(STATE).update(n=0, last=None, now=np.ones(2), before=np.zeros(2))
    TOTAL, COUNT, ARRAY = 0.0, 0, np.ones(2)
    globals().pop("NEW", None)
    Counted.count = 0
    if "count" in vars(Derived):
        del Derived.count
    SLOTTED.n = 0
    if hasattr(SLOTTED, "last"):
        del SLOTTED.last


def everything():
    slots = SLOTTED.n, getattr(SLOTTED, "last", None)
    return repr(
        (LOG, CACHE, TABLE, vars(STATE), TOTAL, COUNT, ARRAY, globals().get("NEW"), Counted.count, slots)
    ) + repr((vars(Derived).get("count"), len(warnings.filters)))


def appends(x):
    LOG.append(x)
    LOG.append("text")
    return LOG[0] * x


def pushes_and_pops(x):
    LOG.append(x * x)
    return LOG.pop() * x


def caches(x):
    if "key" not in CACHE:
        CACHE["key"] = [{"made": "once"}, 2.0]
    CACHE["key"][1] += 1.0
    return CACHE["key"][1] * x


def counts(x):
    TABLE["n"] += 1
    TABLE["a"] = TABLE["a"] * x
    return TABLE["a"].sum() + TABLE["n"]


def sets_on_a_path(x):
    if x > 0:
        STATE.last = x
        STATE.n += 1
    else:
        STATE.last = -x
    return STATE.last * x + STATE.n


def writes_an_array(x):
    TABLE["a"][0] = x
    TABLE["s"] = x
    TABLE["inner"]["k"].append(x)
    return TABLE["a"].sum() * x + TABLE["inner"]["k"][-1]


def in_a_loop(x):
    for _ in range(4):
        TABLE["s"] = TABLE["s"] * x
        SLOTTED.n += 1
    SLOTTED.last = x
    return TABLE["s"]


def in_a_while(x):
    y = x * x
    while y < 100.0:
        TABLE["s"] = TABLE["s"] + y
        y = y * 2.0
    return TABLE["s"]


def steps(x):
    STATE.before = STATE.now
    STATE.now = STATE.now * x
    return (STATE.now - STATE.before).sum()


def deletes(x):
    if "s" in TABLE:
        del TABLE["s"]
    TABLE["late"] = x
    return x


def assigns_globals(x):
    global TOTAL, COUNT, ARRAY, NEW
    TOTAL = TOTAL + x
    COUNT += 1
    for _ in range(3):
        ARRAY = ARRAY * x
    NEW = [x]
    return TOTAL * x + COUNT + ARRAY.sum() + NEW[0]


def assigns_on_a_path(x):
    global COUNT
    if x > 0:
        COUNT += 2
    return x * COUNT


def sets_a_class(x):
    Counted.count += 1
    Derived.count += 2
    return x * Counted.count + Derived().count * x


def inner_functions(x):
    def add(y):
        global TOTAL
        TOTAL += y
        return TOTAL

    return add(x) * add(2.0 * x)


def catches(x):
    try:
        STATE.n += 1
        if x > 0:
            raise ValueError
        STATE.n += 10
    except ValueError:
        STATE.last = x
    return STATE.n * x


def without_warnings(x):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return x * x


PROGRAMS = [appends, pushes_and_pops, caches, counts, sets_on_a_path, writes_an_array, in_a_loop, in_a_while, steps, deletes,
            assigns_globals, assigns_on_a_path, sets_a_class, inner_functions, catches, without_warnings]  # fmt: skip


def runs(f, xs):
    reset()
    found = []
    for x in xs:
        try:
            found.append((repr(f(x)), everything()))
        except mo.BadInput:
            raise
    reset()
    return found


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_each_call_changes_what_python_changes(f, target):
    xs = (2.0, 3.0, -1.5, 2.0)
    assert runs(mo.jit(f, target=target), xs) == runs(f, xs)


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_a_compiled_gradient_changes_it_once(f, target):
    xs = (2.0, 3.0, -1.5)
    gradient = mo.value_and_grad(f)
    compiled, eager = runs(mo.jit(gradient, target=target), xs), runs(gradient, xs)
    assert [state for _, state in compiled] == [state for _, state in runs(f, xs)]
    assert [y for y, _ in compiled] == [y for y, _ in eager]


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_second_derivatives(f, target):
    xs = (2.0, 3.0)
    second = mo.grad(mo.grad(f))
    compiled = [y for y, _ in runs(mo.jit(second, target=target), xs)]
    assert compiled == [y for y, _ in runs(second, xs)]


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_the_gradient_of_a_compiled_function(f, target):
    xs = (2.0, 3.0, -1.5)
    compiled = runs(mo.value_and_grad(mo.jit(f, target=target)), xs)
    assert [state for _, state in compiled] == [state for _, state in runs(f, xs)]
    assert [y for y, _ in compiled] == [y for y, _ in runs(mo.value_and_grad(f), xs)]


def test_a_variable_of_a_closure(target):
    def made():
        total = 1.0

        def multiply(x):
            nonlocal total
            total = total * x
            return total

        return multiply, lambda: total

    (plain, _), (compiled, total) = made(), made()
    compiled = mo.jit(compiled, target=target)
    for x in (2.0, 3.0, 0.5):
        assert compiled(x) == plain(x) == total()


def test_numbers_that_change_do_not_compile_again(target):
    reset()
    programs = mo.jit(assigns_on_a_path, target=target), mo.jit(counts, target=target)
    for f in programs:
        f(1.5), f(1.5), f(1.5)
        before = [id(p) for form in f.forms.values() for p in form.programs.values()]
        f(1.5), f(2.5)
        assert [id(p) for form in f.forms.values() for p in form.programs.values()] == before
    assert COUNT == 10 and TABLE["n"] == 5
    reset()


def test_what_is_cached_keeps_its_identity(target):
    def cached(x):
        if "made" not in CACHE:
            CACHE["made"] = Counted()
            CACHE["same"] = [CACHE["made"]]
            CACHE["made"].x = x
        return CACHE["made"]

    reset()
    compiled = mo.jit(cached, target=target)
    first = compiled(2.0)
    assert first is CACHE["made"] and first is CACHE["same"][0] and first.x == 2.0
    assert compiled(3.0) is first and first.x == 2.0
    reset()


def test_one_array_in_two_places_that_part(target):
    def swapped(x):
        STATE.before, STATE.now = STATE.now, STATE.before * x
        return STATE.now.sum() + 10.0 * STATE.before.sum()

    def run(f):
        reset()
        STATE.before = STATE.now
        found = [repr(f(x)) for x in (2.0, 3.0, 4.0)]
        found.append(repr(vars(STATE)))
        reset()
        return found

    assert run(mo.jit(swapped, target=target)) == run(swapped)


def test_nothing_changes_where_compilation_is_refused(target):
    def refused(x):
        LOG.append(x)
        STATE.n += 1
        TABLE["n"] += 1
        SEEN.add(x)
        return x

    reset()
    before = everything()
    with pytest.raises(mo.BadInput, match="changes a set that is not one of the function's arguments"):
        mo.jit(refused, target=target)(1.5)
    assert everything() == before
    reset()


def test_an_argument_that_is_also_outside(target):
    def both(d, x):
        d["s"] = x
        TABLE["n"] += 1
        return x

    reset()
    compiled = mo.jit(both, target=target)
    compiled({"s": 1.0}, 2.0)
    with pytest.raises(mo.BadInput, match="also reads from outside"):
        compiled(TABLE, 2.0)
    reset()


def test_a_recursion_that_changes_what_is_outside_is_refused(target):
    def powers(x):
        STATE.n += 1
        return x if x < 1.0 else powers(x / 2.0)

    reset()
    with pytest.raises(mo.BadInput):
        mo.jit(powers, target=target)(5.0)
    assert STATE.n == 0
    reset()


def test_a_change_that_another_thread_could_see_is_refused(target):
    stop = threading.Event()

    def reads():
        stop.wait(60)

    reset()
    before, compiled = everything(), mo.jit(appends, target=target)
    thread = threading.Thread(target=reads)
    thread.start()
    try:
        with pytest.raises(mo.BadInput, match=r"which another thread \(in .*reads\) could read while the program"):
            compiled(2.0)
        assert everything() == before
    finally:
        stop.set()
        thread.join()
    assert compiled(2.0) == 1.0
    reset()
