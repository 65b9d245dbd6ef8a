"""A result that is one of several arrays, by conditions and loops, is the same object as in Python, or is refused."""

from __future__ import annotations

import linecache
import random

import numpy as np
import pytest
from sample_sizes import drawn
from specialise.result_tester import Box, compare

import morula as mo


def pair():
    return np.arange(1.0, 5.0), np.arange(11.0, 15.0)


def one_of_two(a, b, n, c):
    x = a if c > 0 else b
    return x, x[1:], a


def new_or_given(a, b, n, c):
    x = a * 2
    y = x if c > 0 else b
    return y, x


def two_names_on_one_path(a, b, n, c):
    if c > 0:
        x = a * 2
        y = x
    else:
        x = b * 2
        y = a
    return x, y


def part_at_a_computed_place(a, b, n, c):
    m = a.reshape(2, 2)
    if c > 0:
        v = m[n - n % 2 - n + 1] if n > 3 else m[n % 2]
    else:
        v = m[0]
    return v, v[1:], m


def parts_of_a_new_one(a, b, n, c):
    x = a + b
    return (x[1:] if c > 0 else x[:-1]), x


def one_of_two_twice(a, b, n, c):
    m = a if c > 0 else b
    v = m[1:]
    return (v if n > 1 else b[:3]), m


def early_return(a, b, n, c):
    if c > 0:
        return a
    a[0] = 7.0
    return a * 2


def after_a_loop(a, b, n, c):
    for _ in range(n):
        a = a * 2
    return a


def the_one_before(a, b, n, c):
    previous = a
    for _ in range(n):
        previous, a = a, a * 2
    return previous, a


def the_best(a, b, n, c):
    best = a
    for _ in range(n):
        a = a * -2
        if a[1] > best[1]:
            best = a
    return best, a


def the_smallest_before_a_small_one(a, b, n, c):
    smallest, scale = a, 1.0
    for _ in range(n):
        x = a * scale
        if x[1] < 0.3:
            break
        if x[1] < smallest[1]:
            smallest = x
        scale = scale * 0.5
    return smallest if scale < 0.4 else a


def exchanged(a, b, n, c):
    for _ in range(n):
        a, b = b, a
    return a, b


def exchanged_new_ones(a, b, n, c):
    u, v = a * 1, b * 1
    for _ in range(n):
        v[1:] = u[:-1]
        u, v = v, u
    return u, v


def loop_in_a_loop(a, b, n, c):
    out = previous = a
    for i in range(n):
        for _ in range(i):
            previous = out
            out = out + 1
            if out[0] > 20:
                out = b
    return out, previous


def while_loop(a, b, n, c):
    while n > 1:
        n = n // 2
        if n < 3:
            a, b = b, a
        else:
            b = b + a
    return a, b, a[1:]


def left_by_break(a, b, n, c):
    x = a
    for i in range(n):
        if i > 3:
            break
        x = x * 2
    else:
        return x, b
    return a, x


def in_an_object(a, b, n, c):
    box = Box(x=a, y=b)
    for _ in range(n):
        box.x = box.y
        box.y = box.x * 2
    return box, a, b


def condition_after_a_loop(a, b, n, c):
    x = a
    for _ in range(n):
        x = x + 1
    return (x if c > 0 else a), x


PROGRAMS = [x for x in vars().values() if getattr(x, "__module__", "") == __name__ and hasattr(x, "__code__")][1:]


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_which_array(f, target):
    for n in (0, 1, 5, 6):
        for c in (1.0, -1.0):
            compare(f, pair, target, n, c)


def part_and_whole_written_later(a, b, n, c):
    if c > 0:
        x = a * 2
        y = x[1:]
    else:
        x = b * 3
        y = x[1:]
    x[1] = 77.0
    return y.copy()


def two_names_written_later(a, b, n, c):
    if c > 0:
        x = a * 2
        y = x
    else:
        x = b * 3
        y = a
    x[1] = 77.0
    return y.copy()


@pytest.mark.parametrize("f", [part_and_whole_written_later, two_names_written_later])
def test_a_write_after_a_branch_is_seen_under_both_names(f, target):
    for c in (1.0, -1.0):
        compare(f, pair, target, 1, c)


def test_attributes_of_an_argument(target):
    def f(box, c):
        box.x = box.x[1:] if c > 0 else box.x[:-1]
        box.y = [box.x, box.x[::-1]]

    for c in (1.0, -1.0):
        compare(f, lambda: (Box(x=np.arange(4.0), y=0.0),), target, c)


GLOBAL = np.arange(4.0)


def test_an_array_from_outside(target):
    y = mo.jit(lambda a: (GLOBAL, GLOBAL[1:], a + GLOBAL), target=target)(np.ones(4))
    assert y[0] is GLOBAL and np.shares_memory(y[1], GLOBAL) and not np.shares_memory(y[2], GLOBAL)


def row_of_an_iteration(m, n):
    best = m[0]
    for i in range(n):
        if m[i, 0] > best[0]:
            best = m[i]
    return best


def parts_on_one_path(a, b, c):
    if c > 0:
        x = a * 2
        y = x[1:]
    else:
        x = b * 2
        y = x[:-1]
    return x, y


def test_what_cannot_be_known(target):
    with pytest.raises(mo.BadInput, match="may be one of several arrays, or a view of one.*; return a copy of it"):
        mo.jit(row_of_an_iteration, target=target)(np.ones((3, 2)), 3)
    with pytest.raises(mo.BadInput, match="share memory on only one path of a condition.*; return copies of them"):
        mo.jit(parts_on_one_path, target=target)(*pair(), 1.0)
    a, b = pair()
    y = mo.jit(lambda m, n: row_of_an_iteration(m, n).copy(), target=target)(np.ones((3, 2)), 3)
    assert y.tolist() == [1.0, 1.0]


def found_again(a, n, least):
    return a if n <= least else found_again(a, n - 1.0, least)


def test_an_argument_that_a_recursion_hands_on():
    with pytest.raises(mo.BadInput, match="return a copy of it"):
        mo.jit(found_again, target="native")(np.ones(2), 3.0, 1.0)
    assert mo.jit(lambda *args: found_again(*args) * 2, target="native")(np.ones(2), 3.0, 1.0).tolist() == [2.0, 2.0]


# Random programs

SIMPLE = [
    "{x} = {y}",
    "{x} = {y} * 2.0",
    "{x} = {y}[::-1]",
    "{x} = {y}[...]",
    "{x}, {y} = {y}, {x}",
    "{x} = {y} if c > {k} else {z}",
    "{x} = {y}.copy()",
]
COMPOUND = ["if c > {k}:", "for i in range(n):", "for i in range(n + 1):", "if n > {k}:"]


def written(generator, depth=0):
    """Random statements about the arrays u, v and w."""
    lines = []
    for _ in range(generator.randint(1, 3) + (depth == 0)):
        names = generator.sample("uvw", 3)
        chosen = dict(zip("xyz", names), k=generator.randint(-1, 2))
        if depth < 2 and generator.random() < 0.4:
            lines.append(generator.choice(COMPOUND).format(**chosen))
            lines += [f"    {line}" for line in written(generator, depth + 1)]
        else:
            lines.append(generator.choice(SIMPLE).format(**chosen))
    return lines


def random_program(seed):
    lines = ["def program(u, v, n, c):", "    w = u + v"]
    lines += [f"    {line}" for line in written(random.Random(seed))]
    text = "\n".join([*lines, "    return u, [v, w]", ""])
    name = f"<arrays {seed}>"
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    space = {}
    exec(compile(text, name, "exec"), space)
    return space["program"], text


def test_random_programs(target):
    refused = 0
    seeds = range(drawn(60)) if target == "native" else range(60, 60 + drawn(6))
    for seed in seeds:
        f, text = random_program(seed)
        try:
            for n, c in ((0, 0.5), (1, 5.0), (6, -3.0), (7, 1.5)):
                compare(f, pair, target, n, c)
        except mo.BadInput as error:
            assert "cop" in str(error), text
            refused += 1
        except AssertionError as error:
            raise AssertionError(f"{text}\n{error}") from None
    assert refused < len(seeds) / 2
