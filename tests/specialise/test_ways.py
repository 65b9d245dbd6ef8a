"""A program forks where a container, an iterator or an object has two forms after a condition; each way is interpreted.

Each program is compared with plain Python (value, arguments afterwards) and its gradient with the eager one, on all ways.
"""

from __future__ import annotations

import itertools
import weakref
from collections import OrderedDict, deque

import numpy as np
import pytest
from specialise.state_tester import verdict

import morula as mo
from morula.core.specialise import ways

POINTS = (-1.3, -0.4, 0.2, 0.7, 1.6)


class Box:
    def __init__(self, s):
        self.s = s


def appended(x):
    items = [x]
    if x > 0.0:
        items.append(x * x)
    items.append(1.5)
    return sum(items) * len(items)


def appended_in_a_loop(x):
    items = []
    for v in [x, 2.0 * x, -x]:
        if v > 0.3:
            items.append(v * v)
    return sum(items) * len(items)


def appended_in_a_function(x):
    items = [x]

    def add(v):
        if v > 0.0:
            items.append(v)
        return v * v

    return add(x) + add(-x) * len(items)


def appended_by_an_expression(x):
    items = [1.0]
    y = x * 2.0 if x < 0.5 else items.append(x)
    return len(items) * x if y is None else y


def nested_conditions(x):
    items = [x]
    if x > -1.0:
        if x > 0.5:
            items.append(x)
        items.append(2.0)
    return sum(v * (i + 1) for i, v in enumerate(items))


def left_early(x):
    items = [x]
    if x > 0.0:
        items.append(x)
        if x > 1.0:
            return x**3
    elif x < -1.0:
        return -x
    return sum(items) * len(items)


def popped(x):
    items = deque([x, 1.0, 2.0])
    if x > 0.5:
        items.popleft()
    items.append(x)
    return items[0] * items[2]


def advanced(x):
    t = iter([x, 2.0 * x, 3.0 * x])
    if x > 0.0:
        next(t)
    return next(t) * x + sum(t)


def advanced_generator(x):
    def several(n):
        for i in range(n):
            yield x * i

    t = several(4)
    if x > 0.0:
        next(t)
    return sum(itertools.islice(t, 2)) + next(t)


def left_by_break(x):
    t = iter([0.5, x, 1.0, 2.0])
    for v in t:
        if v * x > 0.4:
            break
    return sum(t) * x


def filtered(x):
    return sum(v * (i + 1) for i, v in enumerate(filter(lambda v: v > 0.3, [x, -x, 1.0])))


def generator_with_a_condition(x):
    def positive(items):
        for v in items:
            if v > 0.0:
                yield v * v

    return sum(v * (i + 1) for i, v in enumerate(positive([x, 1.0, -x])))


def ended_by_next(x):
    class_ = [x]
    t = iter(class_)
    if x > 0.0:
        next(t, None)
    return next(t, 5.0 * x)


def stops_early(x):
    log = []

    def noted(v):
        log.append(v)
        return v

    found = any(noted(v) > 0.5 for v in [x, -x, 2.0])
    return len(log) * x + found


def reordered(x):
    d = OrderedDict(a=x, b=2.0)
    if x > 0.0:
        d.move_to_end("a")
    return sum(v * (i + 1) for i, v in enumerate(d.values()))


def key_added(x):
    d = {"a": x}
    if x > 0.0:
        d["b"] = x * x
    return sum(d.values()) * len(d)


def one_of_two_is_changed(x):
    a, b = Box(x), Box(2.0)
    c = a if x > 0.0 else b
    c.s *= x
    return a.s + 3.0 * b.s


def one_of_two_arrays_is_written(x):
    a, b = np.array([x, 1.0]), np.array([2.0, x])
    c = a if x > 0.0 else b
    c[0] = x * x
    return np.sum(a) + 3.0 * np.sum(b)


def two_kinds(x):
    y = None if x > 0.0 else x
    return x * x if y is None else y * 3.0


def raised_on_one_way(x):
    items = [x]
    if x > 0.0:
        items.append(1.0)
    if x > 1.0:
        raise ValueError("too large", x)
    return sum(items)


def raised_on_all_ways(x):
    items = [x]
    if x > 0.0:
        items.append(1.0)
    return items[5]


def raised_and_caught(x):
    items = [x]
    if x > 0.0:
        items.append(2.0)
    try:
        return items[1] * x
    except IndexError:
        return -x


PROGRAMS = [
    appended,
    appended_in_a_loop,
    appended_in_a_function,
    appended_by_an_expression,
    nested_conditions,
    left_early,
    popped,
    advanced,
    advanced_generator,
    left_by_break,
    filtered,
    generator_with_a_condition,
    ended_by_next,
    stops_early,
    reordered,
    key_added,
    one_of_two_is_changed,
    one_of_two_arrays_is_written,
    two_kinds,
    raised_on_one_way,
    raised_on_all_ways,
    raised_and_caught,
]


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_each_way_is_as_in_python(f):
    compiled = mo.jit(f, target="native")
    assert [verdict(f, compiled, (x,)) for x in POINTS] == [("right", "")] * len(POINTS)


@pytest.mark.parametrize("f", [f for f in PROGRAMS if not f.__name__.startswith("raised_on")], ids=lambda f: f.__name__)
def test_gradients_are_the_eager_ones_on_each_way(f):
    derivative = mo.value_and_grad(f)
    compiled = mo.jit(derivative, target="native")
    for x in POINTS:
        assert np.allclose(compiled(x), derivative(x), 1e-12, 1e-12)


@pytest.mark.parametrize("f", [appended_in_a_loop, left_by_break, one_of_two_is_changed], ids=lambda f: f.__name__)
def test_xla_as_well(f):
    derivative = mo.value_and_grad(f)
    compiled = mo.jit(derivative, target="xla")
    for x in POINTS:
        assert np.allclose(compiled(x), derivative(x), 1e-12, 1e-12)


def test_a_function_that_is_differentiated_inside_of_a_program_forks_itself():
    def step(x):
        y = x
        for _ in range(20):
            y = y - 0.01 * mo.grad(appended)(y)
        return y

    compiled = mo.jit(step, target="native")
    for x in POINTS:
        assert np.allclose(compiled(x), step(x), 1e-12, 1e-12)


# What outlives the body in two forms


def argument_grows(x, items):
    if x > 0.0:
        items.append(lambda: x)
    return len(items)


def two_lengths_are_returned(x):
    items = [x]
    if x > 0.0:
        items.append(lambda: x)
    return items


def closure_keeps_it(x):
    items = [x]

    def inner(y):
        if y > 0.0:
            items.append(lambda: y)
        return y

    return mo.value_and_grad(inner)(x)[0] * len(items)


@pytest.mark.parametrize(
    ("f", "args", "text"),
    [
        (
            argument_grows,
            (1.0, [2.0]),
            "a container is a list of length 2 on one path and a list of length 1 on another; give it the same length",
        ),
        (
            two_lengths_are_returned,
            (1.0,),
            "a container is a list of length 2 on one path and a list of length 1 on another",
        ),
        (closure_keeps_it, (1.0,), "a container is a list of length 2 on one path and a list of length 1 on another"),
    ],
)
def test_what_can_be_reached_after_the_body_is_refused(f, args, text):
    with pytest.raises(mo.BadInput, match=f"(?s){text}.*{f.__code__.co_filename}"):
        mo.jit(f, target="native")(*args)


def test_a_dead_weak_proxy_can_be_reached():
    class Node:
        pass

    node = Node()
    proxies = [weakref.proxy(node)]
    del node

    def f(x):
        items = [x]

        def inner(y):
            if y > 0.0:
                items.append(lambda: y)
            return y * len(proxies)

        return mo.value_and_grad(inner)(x)[0] * len(items)

    with pytest.raises(mo.BadInput, match="a container is a list of length 2 on one path"):
        mo.jit(f, target="native")(1.0)


def printed_before(x):
    items = [x]
    mo.debug.print("{}", x)
    if x > 0.0:
        items.append(1.0)
    return sum(items)


def printed_in_the_statement(x):
    items = [x]
    for v in [x, 2.0]:
        mo.debug.print("{}", v)
        if v > 0.0:
            items.append(lambda: v)
    return len(items)


def test_nothing_is_printed_twice(capsys):
    assert mo.jit(printed_before, target="native")(0.5) == 1.5
    assert capsys.readouterr().out == "0.5\n"
    with pytest.raises(mo.BadInput, match="a container is a list of length 2 on one path and a list of length 1"):
        mo.jit(printed_in_the_statement, target="native")(0.5)


def unlike_items(x):
    items = []
    for v in [x, 2.0 * x, -x]:
        if v > 0.3:
            items.append([v] * len(items))
    return len(items)


def test_the_number_of_forks_is_bounded(monkeypatch):
    monkeypatch.setattr(ways, "MOST", 2)
    monkeypatch.setattr("morula.core.specialise.program.MOST", 2)
    with pytest.raises(mo.BadInput, match="give it the same length on both"):
        mo.jit(unlike_items, target="native")(0.5)


def test_programs_that_need_no_fork_are_traced_once(monkeypatch):
    traces = []
    real = ways.Ways
    monkeypatch.setattr("morula.core.specialise.statements.Ways", lambda *args: traces.append(args) or real(*args))
    mo.jit(lambda x: x * 2.0 if x > 0.0 else -x, target="native")(0.5)
    assert not traces


# All paths raise


def raises_on_every_path(x):
    if x > 0.0:
        if x > 1.0:
            raise ValueError("a")
        else:
            raise KeyError("b")
    else:
        if x < -1.0:
            raise ValueError("c", x)
        else:
            raise IndexError("d")


def test_a_program_that_raises_on_every_path_of_nested_conditions(target):
    compiled = mo.jit(raises_on_every_path, target=target)
    for x in POINTS:
        how, text = verdict(raises_on_every_path, compiled, (x,))
        assert how == "right", text


def test_what_the_import_system_holds_is_not_searched():
    class Loader:
        def __init__(self):
            self.modules = [object() for _ in range(3)]

    loader, own = Loader(), [1.0]
    found = ways.reachable([{"__name__": "program", "__loader__": loader, "own": own}], [])
    assert id(own) in found and id(loader) not in found and id(loader.modules) not in found
