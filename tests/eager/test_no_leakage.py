"""A derivative changes nothing in the program, the libraries or the interpreter, and keeps no object of a run."""

from __future__ import annotations

import collections
import colorsys
import decimal
import functools
import gc
import itertools
import os
import pickle
import random
import statistics
import sys
import threading
import types
import warnings
import weakref

import numpy as np
import pytest

import morula as mo
from morula.core.eager.recorded.tape import Tape
from morula.core.eager.unrecorded.opaque_calls import Recording


def twice(x=1.0):
    return x * 2


class Node:
    count = 0

    def __init__(self, x):
        self.x = x

    def value(self):
        return self.x * self.x


def busy(v):
    """Objects, a library's source, callbacks from C, warnings, an exception that is caught."""
    nodes = sorted([Node(x) for x in v], key=lambda n: -n.x)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.warn("ignored", stacklevel=1)
    try:
        raise ValueError(v[0])
    except ValueError as error:
        y = error.args[0]
    y = y + statistics.stdev(v) + sum(colorsys.rgb_to_hls(*(x / 3 for x in v)))
    return y + np.polyfit([0.0, 1.0, 2.0], np.array(v), 1)[0] + functools.reduce(lambda a, n: a + n.value(), nodes, 0.0)


def failing(v):
    return busy(v) + {}["no such key"]


def contents(namespace):
    return {name: id(value) for name, value in vars(namespace).items()}


def state():
    """What Python programs share."""
    libraries = [collections, colorsys, functools, itertools, statistics, np, np.linalg, np.lib, random, types, decimal]
    classes = [Node, collections.OrderedDict, collections.UserList, statistics.NormalDist, np.ma.MaskedArray, Exception]
    return {
        "modules": {m.__name__: contents(m) for m in libraries},
        "classes": {c.__qualname__: contents(c) for c in classes},
        "this module": {n: id(x) for n, x in globals().items() if not n.startswith("__")},
        "functions": [
            (id(f.__code__), f.__defaults__, dict(vars(f)), f.__closure__) for f in (twice, busy, Node.value)
        ],
        "recursion limit": sys.getrecursionlimit(),
        "warnings": list(map(str, warnings.filters)),
        "showwarning": warnings.showwarning,
        "gc": (gc.isenabled(), gc.get_threshold(), gc.get_debug(), list(gc.callbacks)),
        "hooks": (sys.gettrace(), sys.getprofile(), sys.excepthook, sys.displayhook, sys.meta_path[:], sys.path[:]),
        "switch interval": sys.getswitchinterval(),
        "numpy": (np.geterr(), np.get_printoptions()),
        "random": (random.getstate(), np.random.get_state()[1].tolist()),
        "decimal": str(decimal.getcontext()),
        "environment": dict(os.environ),
        "directory": os.getcwd(),
    }


@pytest.mark.parametrize("transform", [mo.grad, mo.value_and_grad, lambda f: mo.grad(lambda v: sum(mo.grad(f)(v)))])
def test_nothing_that_programs_share_is_changed(transform):
    transform(busy)([1.5, 0.7, 2.5])  # libraries that are imported on the way are imported now
    before, modules = state(), set(sys.modules)
    transform(busy)([1.5, 0.7, 2.5])
    with pytest.raises(KeyError):
        transform(failing)([1.5, 0.7, 2.5])
    assert state() == before
    assert set(sys.modules) == modules


def test_a_recursion_that_is_too_deep_leaves_the_limit_as_it_was():
    def endless(x):
        return endless(x * 1.0) + [x][0]

    limit = sys.getrecursionlimit()
    with pytest.raises(RecursionError):
        mo.grad(endless)(1.5)
    assert sys.getrecursionlimit() == limit


def test_a_generator_that_outlives_the_run_goes_on_as_python_runs_it():
    kept = []

    def f(x):
        def squares():
            y = x
            while True:
                y = y * y
                yield y

        kept.append(squares())
        return next(kept[0]) * 1.0

    limit = sys.getrecursionlimit()
    assert mo.grad(f)(1.5) == 3.0
    assert next(kept[0]) == 1.5**4
    kept.clear()
    assert sys.getrecursionlimit() == limit


def holders(kept):
    """Objects of built-in classes that are given a function, or an object of the program."""
    node = Node(1.0)
    node.bound = types.MethodType(twice, 1.0)
    kept.update(
        partial=functools.partial(twice, 1.0),
        namespace=types.SimpleNamespace(f=twice),
        ordered=collections.OrderedDict(f=twice),
        default=collections.defaultdict(twice, f=twice),
        deque=collections.deque([twice]),
        method=types.MethodType(twice, node),
        error=ValueError(twice),
        cached=functools.lru_cache(twice),
        wrapped=functools.wraps(twice)(lambda: 1),
        partialmethod=functools.partialmethod(twice, 1.0),
        proxy=types.MappingProxyType({"f": twice}),
        property=property(twice),
        dispatched=functools.singledispatch(twice),
        chain=collections.ChainMap({"f": twice}),
        user=collections.UserDict(f=twice),
        made=type("Made", (), {"f": twice}),
        objects=np.array([twice], dtype=object),
        vectorized=np.vectorize(twice),
        node=node,
    )


def held(x, found, depth=6):
    """The objects that ``x`` refers to, not through modules."""
    if id(x) in found or depth == 0 or isinstance(x, (str, types.ModuleType, types.CodeType)) or x is globals():
        return found
    found[id(x)] = x
    for other in gc.get_referents(x):
        held(other, found, depth - 1)
    return found


def test_what_a_run_has_made_holds_the_program_s_own_functions():
    kept = {}

    def f(x):
        holders(kept)
        return x * kept["default"]["a"] * kept["partial"]() * kept["cached"](1.0)

    assert mo.grad(f)(1.5) == 8.0
    for name, x in kept.items():
        assert not [y for y in held(x, {}).values() if isinstance(y, (Recording, Tape))], name
    assert kept["partial"].func is kept["default"].default_factory is kept["namespace"].f is twice
    assert kept["wrapped"].__wrapped__ is kept["method"].__func__ is kept["error"].args[0] is twice
    assert pickle.loads(pickle.dumps(kept["partial"]))() == 2.0


def test_inside_a_run_too_a_container_holds_what_was_put_into_it():
    def f(x):
        held = types.SimpleNamespace(f=twice)
        table = collections.OrderedDict(f=twice)
        same = held.f is twice and table["f"] is twice and functools.partial(twice).func is twice
        return x * same * (ValueError(twice).args[0] is twice)

    assert mo.grad(f)(1.5) == 1.0


def test_the_tape_and_what_was_recorded_are_freed():
    def f(x):
        holders({})
        return sum(map(lambda y: y * y, [x, 2 * x]))

    mo.grad(f)(1.5)
    gc.collect()
    before = sum(isinstance(x, Tape) for x in gc.get_objects())
    x = np.ones(3)
    argument = weakref.ref(x)
    for _ in range(3):
        mo.grad(lambda x: (x * f(x[0])).sum())(x)
        mo.grad(f)(1.5)
    del x
    gc.collect()
    assert argument() is None
    assert sum(isinstance(x, Tape) for x in gc.get_objects()) == before


def test_runs_of_threads_that_overlap_leave_the_collector_as_it_was():
    before = gc.get_threshold()
    first_has_started, second_has_started, first_has_ended = (threading.Event() for _ in range(3))

    def first(x):
        node = Node(x)
        first_has_started.set()
        second_has_started.wait(10)
        return node.value()

    def second(x):
        node = Node(x)
        second_has_started.set()
        first_has_ended.wait(10)
        return node.value()

    def run_first():
        mo.gradient(first, 1.5)
        first_has_ended.set()

    def run_second():
        first_has_started.wait(10)
        mo.gradient(second, 1.5)

    threads = [threading.Thread(target=run_first), threading.Thread(target=run_second)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert gc.get_threshold() == before
