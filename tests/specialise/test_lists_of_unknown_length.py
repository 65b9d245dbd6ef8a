"""Lists and tuples whose length is known only at run time: made, changed, read, returned and differentiated as in Python."""

from __future__ import annotations

import re
from collections import deque
from dataclasses import dataclass

import numpy as np
import pytest
from path_tester import check_gradient, check_value

import morula as mo
from morula.core.compilation.jitted import FACTOR

V = np.array([0.7, -0.4, 1.3, 0.2, -0.9, 0.5])


@dataclass
class Step:
    t: float
    y: np.ndarray


def of_a_stack(x):
    stack, total = [x], 0.0
    while stack:
        t = stack.pop()
        if t > 0.1:
            stack.append(t * 0.5)
            stack.append(t * 0.3)
        total += t * t
    return total


def of_results(x):
    t, ts = 0.0, []
    while t < x:
        ts.append(t * x)
        t += 0.3
    return ts[-1] * len(ts) + sum(ts) + ts[len(ts) // 2]


def of_chosen_items(v):
    kept = [e * e for e in v if e > 0.1]
    return sum(kept) * len(kept) + max(kept) - min(kept)


def of_one_branch(x):
    items = [1.0, x]
    if x > 0.5:
        items += [x * x]
    elif x < 0.0:
        items = items[:1]
    items.append(2.0 * x)
    return sum(e * (i + 1) for i, e in enumerate(items)) + items[-1] * len(items)


def of_tuples(x):
    pair = (x,) if x > 0.5 else (x, 2.0 * x)
    for e in pair:
        pair = (*pair[:1], e * x) if e > 10.0 else pair
    return pair[len(pair) - 1] + pair[0]


def of_pairs(x):
    t, steps = 0.0, [(0.0, 1.0)]
    while t < x:
        t += 0.25
        steps.append((t, steps[-1][1] * (1.0 + 0.1 * x * t)))
    table = np.array(steps)
    return np.sum(table[:, 0] * table[:, 1]) + steps[2][1]


def of_arrays(v):
    y, ys = v, [v]
    while np.sum(y * y) > 0.2:
        y = 0.7 * y
        ys.append(y)
    table = np.array(ys)
    return np.sum(table * table) + ys[-1][0] + len(ys) * ys[1][2]


def of_objects(x):
    t, steps = 0.0, []
    while t < x:
        steps.append(Step(t, np.array([t, x * t])))
        t += 0.4
    return sum(s.t * s.y[1] for s in steps) + steps[-1].y[1]


def of_other_ends(v):
    found = []
    for e in v:
        if e > 0.0:
            found.insert(0, e)
        else:
            found.append(2.0 * e)
    first = found.pop(0)
    found.reverse()
    del found[0]
    found.insert(1, first)
    return sum(e * e * (i + 1) for i, e in enumerate(found)) + first


def of_a_queue(x):
    queue, total = deque([x]), 0.0
    while queue:
        t = queue.popleft()
        if t > 0.2:
            queue.append(0.6 * t)
            queue.appendleft(0.3 * t)
        total += t * (1.0 + len(queue))
    return total


def of_an_order(v):
    kept = [e for e in v if e > -0.5]
    kept.sort(key=lambda e: -e)
    low = sorted(kept)
    return sum(a * (i + 1) - b * b for i, (a, b) in enumerate(zip(kept, low))) + kept[0]


def of_parts(v):
    kept = [e for e in v if e > -0.5]
    back = [e for e in reversed(kept)]
    return sum(kept[1:]) * 2.0 + sum(back[::2]) + kept[-2] * len(kept[:-1]) + sum(kept + back[:1])


def of_nothing(x):
    items = []
    while x > 10.0:
        items.append(x)
        x = 0.5 * x
    return sum(items) + 3.0 * x if not items else items[0]


def of_two_levels(x):
    total = 0.0
    for i in range(6):
        items, t = [], x
        while t > 0.2:
            items.append(t * i)
            t = t * 0.5
        total += sum(items) * len(items)
    return total


def of_single_precision(v):
    kept = [e * e for e in v if e > 0.1]
    return np.sum(np.array(kept))


def of_nested_derivatives(x):
    return mo.grad(of_results)(x) * x


PROGRAMS = {
    of_a_stack: [1.0, 0.05],
    of_results: [1.4, 0.2],
    of_chosen_items: [V],
    of_one_branch: [0.8, 0.3, -0.4],
    of_tuples: [0.8, 0.3],
    of_pairs: [1.1],
    of_arrays: [V],
    of_objects: [1.7],
    of_other_ends: [V],
    of_a_queue: [0.9],
    of_an_order: [V],
    of_parts: [V],
    of_nothing: [1.5, 25.0],
    of_two_levels: [1.3],
    of_single_precision: [V.astype(np.float32)],
    of_nested_derivatives: [1.4],
}


@pytest.mark.parametrize("path", ["native", "xla"])
@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_values_and_gradients_are_pythons(f, path):
    for x in PROGRAMS[f]:
        check_gradient(path, f, x)


# What is returned and changed


def returned(x):
    ts, ys, names, t = [], [], [], 0.0
    while t < x:
        ts.append(t)
        ys.append(np.array([t, x]))
        names.append("early" if t < 0.5 else "late")
        t += 0.25
    return ts, ys, tuple(ts[1:]), names, [(i, t > 0.3, None) for i, t in enumerate(ts)], len(ts)


def argument_grows(x, items):
    while x > 0.3:
        items.append(x)
        x = 0.5 * x
    if x > 0.2:
        items.pop(0)
    return sum(items)


def complex_items(z):
    zs = []
    while abs(z) < 3.0:
        z = z * z + 0.3
        zs.append(z)
    return zs, zs == [z], [1.0] * 2 == zs, zs[:1] < [], 0.3 in [abs(e) for e in zs]


def objects_are_returned(x):
    steps = []
    while x < 3.0:
        x += 0.7
        steps.append(Step(x, np.array([x, 1.0])))
    return steps


def unpacked(x):
    pair = [x]
    while len(pair) < 2 or pair[-1] > 0.4:
        pair.append(pair[-1] * 0.5)
    a, b = pair
    return a, b


def compared(x):
    a, b = [], []
    while x > 0.1:
        a.append(x)
        if x > 0.3:
            b.append(x)
        x = 0.6 * x
    return a == b, a != b, a < b, a > b, a == a[:], bool(b), a[0] in b, a.index(b[-1]), a.count(b[0]), 7.0 in a


@pytest.mark.parametrize("path", ["native", "xla"])
@pytest.mark.parametrize(
    ("f", "args"),
    [
        (returned, (1.1,)),
        (returned, (0.0,)),
        (argument_grows, (1.5, [2.0, 1.0])),
        (argument_grows, (0.1, [2.0, 1.0])),
        (complex_items, (0.4 + 0.2j,)),
        (objects_are_returned, (0.5,)),
        (unpacked, (0.7,)),
        (compared, (1.0,)),
    ],
)
def test_results_and_changed_arguments_are_pythons(f, args, path):
    check_value(path, f, *args)


def counted(n, x):
    items = []
    k = 0
    while k * x < n:
        items.append(k * x)
        k += 1
    return items


def test_a_list_that_becomes_too_long_is_compiled_with_more_room():
    compiled = mo.jit(counted, target="native")
    for n in (3.0, 70.0, 64.0 * FACTOR + 5.0, 2.0):
        assert compiled(n, 1.0) == counted(n, 1.0)
    assert len(compiled.compilation((2.0, 1.0), {})[0].function.block.operations) > 0


def printed(n, x):
    items = []
    while len(items) < n:
        if len(items) % 5000 == 0:
            mo.debug.print("{}", x)
        items.append(x)
    return sum(items)


def test_a_program_that_prints_runs_once(capsys):
    compiled = mo.jit(printed, target="native")
    assert compiled(3.0, 2.0) == 6.0
    assert capsys.readouterr().out == "2.0\n"
    with pytest.raises(
        mo.BadInput, match="a list in printed .* grew beyond 16384 items.* write into an array of the greatest length"
    ):
        compiled(20000.0, 2.0)


# Errors


def beyond(x, i):
    items = []
    while x > 0.1:
        items.append(x)
        x = 0.5 * x
    return items[i]


def popped_empty(x):
    items = [x]
    while x > -5.0:
        x = x - items.pop()
    return x


def three_of_two(x):
    items = []
    while x > 0.3:
        items.append(x)
        x = 0.5 * x
    a, b, c = items
    return a + b + c


@pytest.mark.parametrize("path", ["native", "xla"])
@pytest.mark.parametrize(
    ("f", "args"), [(beyond, (1.0, 7)), (beyond, (1.0, -8)), (popped_empty, (1.0,)), (three_of_two, (1.0,))]
)
def test_errors_are_pythons(f, args, path):
    with pytest.raises(Exception) as expected:  # noqa: PT011
        f(*args)
    with pytest.raises(type(expected.value), match=re.escape(str(expected.value))):
        mo.jit(f, target=path)(*args)


# Refusals


def changed_afterwards(v):
    kept = []
    while v[0] > 0.1:
        kept.append(v)
        v[0] = 0.5 * v[0]
    return kept


def changed_in_the_list(v):
    kept, t = [], v[0]
    while t > 0.1:
        kept.append(np.array([t, t]))
        t = 0.5 * t
    kept[0][0] = 1.0
    return kept[0]


def changed_under_a_loop(x):
    items = [x]
    while x > 0.1:
        x = 0.5 * x
        items.append(x)
    for e in items:
        if e > 0.3:
            items.append(0.1 * e)
    return sum(items)


def arguments_returned(v):
    kept, x = [v], v[0]
    while x > 0.1:
        x = 0.5 * x
        kept.append(v * x)
    return kept


@pytest.mark.parametrize("f", [changed_afterwards, changed_in_the_list, changed_under_a_loop, arguments_returned])
def test_what_could_differ_from_python_is_refused(f):
    with pytest.raises(mo.BadInput):
        mo.jit(f, target="native")(1.0 if f is changed_under_a_loop else V.copy())
