"""A write into an array that may be one of several older ones is seen through every name of it, and has its gradient."""

from __future__ import annotations

import random

import numpy as np
import pytest
from path_tester import check_gradient, check_value, run_on
from sample_sizes import drawn

import morula as mo

A = np.array([0.5, -1.0, 1.5])
B = np.array([1.0, 2.0, -0.5])


def one_of_two(a, b, x):
    u, v = a * 2, b * 3
    m = u if x > 0 else v
    m[0] = x * x
    return u.sum() + 10 * v.sum() + 100 * (m * m).sum()


def one_of_two_given(a, b, x):
    m = a if x > 0 else b
    m[1:] *= x
    return m.sum()


def through_the_other_name(a, b, x):
    u = a * 2
    m = u if x > 0 else b
    u += x
    return (m * m).sum()


def exchanged(a, b, x):
    p, q = (a, b) if x > 0 else (b, a)
    p[0] = x
    q[0] = 2 * x
    return a[0] + 10 * b[0] + 100 * p.sum() + 1000 * q.sum()


def of_a_chosen_one(a, b, x):
    u, v, w = a * 2, b * 3, a + b
    m = u if x > 0 else v
    k = m if x < 1 else w
    k[0] = x
    m[1] = 2 * x
    u[2] = 3 * x
    return (u + 2 * v + 4 * w + 8 * m + 16 * k).sum()


def new_on_one_path(a, b, x):
    d = a * 2
    first = d
    if x > 0:
        d = d + b
    d += x
    return d.sum() + 10 * first.sum()


def as_a_sum_begins(a, b, x):
    d = 0.0
    for c in (a, b, a * b):
        if x > c[0]:
            d += c * x
    return np.sum(d)


def parts(a, b, x):
    m = a[1:] if x > 0 else a[:2]
    m[0] = x
    a[1] = 2 * x
    return m.sum() + 10 * a.sum()


def reversed_on_a_path(a, b, x):
    m = a
    if x > 0:
        m = m[::-1]
    m[0] = x
    m[1:] += x
    return a[0] + 10 * a[2] + 100 * m[0]


def in_a_branch(a, b, x):
    m = a if x > 0 else b
    if x > 1:
        m[0] = x
    elif x < -1:
        b[0] = 2 * x
    return m.sum() + 10 * b.sum()


def chosen_in_a_branch(a, b, x):
    c = np.zeros(3)
    if x > 0:
        if x > 1:
            c = a
    else:
        c = c + 1.0
    c += x
    return c.sum() + a.sum()


def in_a_list(a, b, x):
    rows = [a * 2, b * 2]
    if x > 0:
        rows[0] = rows[1]
    rows[0] += x
    return rows[0].sum() + 10 * rows[1].sum()


class Box:
    def __init__(self, x):
        self.x = x


def in_an_object(a, b, x):
    box, other = Box(a), Box(b)
    if x > 0:
        box.x = other.x
    box.x[0] = x
    other.x[1] = 2 * x
    return (box.x * other.x).sum()


def in_a_function(a, b, x):
    def changed(m, k):
        if x > k:
            m = m * 1.0
        m[0] += x
        return m

    c = changed(changed(a, 0.0), 1.0)
    c[2] = x
    return c.sum() + 10 * a.sum()


def masked(a, b, x):
    m = a if x > 0 else b
    m[m > 0.7] = x
    return a.sum() + 10 * b.sum()


def named_twice(a, b, x):
    if x > 0:
        p = q = a * x
    else:
        p, q = b * 2, a * 2
    p[0] = x
    q[1] += x
    return p.sum() + 10 * q.sum()


def whole_and_part(a, b, x):
    if x > 0:
        p = a * 2
        q = p[1:]
    else:
        p, q = b * 3, b[:2]
    p[1] = x
    q[0] += 1.0
    return p.sum() + 10 * q.sum()


PROGRAMS = [f for f in vars().values() if getattr(f, "__module__", "") == __name__ and hasattr(f, "__code__")]


@pytest.mark.parametrize("x", [1.5, 0.7, -0.5, -1.5])
@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_each_name_sees_the_write(path, f, x):
    check_gradient(path, f, A, B, x)


def in_a_loop(a, b, x, n):
    m = a if x > 0 else b
    for i in range(n):
        m[i % 3] += x * i
        a[0] *= 0.5
    return m.sum() + 10 * a.sum() + 100 * b.sum()


def chosen_in_a_loop(a, b, x, n):
    for i in range(n):
        m = a if x * i > 1 else b
        m[0] += x
    return a.sum() + 10 * b.sum()


@pytest.mark.parametrize("x", [1.5, -0.5])
@pytest.mark.parametrize("f", [in_a_loop, chosen_in_a_loop])
def test_in_loops(path, f, x):
    for n in (0, 1, 4):
        check_gradient(path, f, A, B, x, n, argnums=(0, 1, 2))


def changed_in_the_next_iteration(a, b, x, n):
    p = b * 1.0
    for i in range(n):
        p[0] += 1.0
        p = a if x > i else np.zeros(3)
    return a.sum()


def moved_to_another_name(a, b, x, n):
    p, q = a * 1.0, b * 1.0
    for i in range(n):
        p[0] += x
        q = p if x > i else q
    return p.sum() + q.sum()


def changed_after_the_loop(a, b, x, n):
    q = np.ones(3)
    for _ in range(n):
        s = np.ones(3)
        q = a if x > 0 else s
        s = s + 0.0 if x > 1 else s
    q[0] = x
    return q.sum() + a.sum()


def tied_in_a_branch(a, b, x, n):
    if x > 0:
        q = s = np.zeros(3)
        for i in range(n):
            s = np.ones(3)
            q = a if i > x else s
    else:
        q, s = np.zeros(3), np.ones(3)
    s[0] = 5.0
    return 10 * q.sum() + 1000 * s.sum()


def box_tied_in_a_branch(a, b, x, n):
    if x > 0:
        q = s = Box(1.0)
        for _ in range(n):
            s = Box(2.0)
            q = s
    else:
        q, s = Box(3.0), Box(4.0)
    s.x = 5.0
    return 10 * q.x + 1000 * s.x


def listed_in_a_branch(a, b, x, n):
    s = np.ones(3)
    if x > 0:
        found = [s]
        for _ in range(n):
            found.append(np.ones(3))
    else:
        found = [np.ones(3), s]
    s[0] = 5.0 * x
    return 10 * found[0].sum() + 1000 * s.sum()


@pytest.mark.parametrize(
    "f",
    [
        changed_in_the_next_iteration,
        moved_to_another_name,
        changed_after_the_loop,
        tied_in_a_branch,
        box_tied_in_a_branch,
        listed_in_a_branch,
    ],
)
def test_what_would_need_pointers_is_refused(path, f):
    for x in (1.5, -0.5):
        try:
            check_value(path, f, A, B, x, 3)
        except mo.BadInput as error:
            assert "copy" in str(error)


def test_a_read_only_array_is_not_written_to(target):
    def f(a, b, x):
        m = a if x > 0 else b
        m[0] = x
        return m.sum()

    given = A.copy()
    given.flags.writeable = False
    compiled = mo.jit(f, target=target)
    with pytest.raises((ValueError, mo.BadInput)):
        compiled(given, B.copy(), 1.5)
    assert given[0] == A[0]


def set_read_only(a, b, x):
    u = a * 2
    m = u if x > 0 else b
    u.flags.writeable = False
    m[0] = x
    return m.sum()


def test_an_array_that_is_another_one_on_a_path_cannot_become_read_only(target):
    with pytest.raises(mo.BadInput, match="writeable flag"):
        mo.jit(set_read_only, target=target)(A.copy(), B.copy(), 1.5)


def after_a_derivative(a, b, x):
    box = Box(b)

    def inner(y):
        box.x = a if y > 1 else b * y
        return (box.x * y).sum()

    slope = mo.grad(inner)(x)
    return slope + box.x.sum()


def test_after_a_derivative(path):
    for x in (1.5, 0.5):
        check_value(path, after_a_derivative, A, B, x)


# Random programs

NAMES = ("p", "q", "r")
WRITES = ("{n}[0] = {v}", "{n} += {v}", "np.multiply({n}, {v}, out={n})", "{n}[:] = {v}", "{n}[1:] -= {v} * x",
          "{n}[k] = {v} * x", "{n}[{n} > {v}] = 0.5 * x")  # fmt: skip
CONDITIONS = ("x > 0", "y > 0", "x > y", "x + y > 1", "p[0] > 0.5", "q[0] > 1")


def value_of(draw):
    name, other = draw.choices(NAMES, k=2)
    either = f"({name} if {draw.choice(CONDITIONS)} else {other})"
    return draw.choice([name, name, f"{name}[::-1]", "a", "b", "np.zeros(3) + x", f"{name} * 2", either, either])


def block(draw, indent, depth, count, loops):
    lines = []
    for _ in range(count):
        kind = draw.random()
        if kind < 0.4:
            lines.append(indent + draw.choice(WRITES).format(n=draw.choice(NAMES), v=draw.choice(["1.5", "y", "x"])))
        elif kind < 0.65 or depth > 1:
            lines.append(f"{indent}{draw.choice(NAMES)} = {value_of(draw)}")
        elif kind < 0.9 or not loops:
            lines.append(f"{indent}if {draw.choice(CONDITIONS)}:")
            lines += block(draw, indent + "    ", depth + 1, draw.randint(1, 2), loops)
            lines += [f"{indent}else:", *block(draw, indent + "    ", depth + 1, 1, loops)]
        else:
            lines += [f"{indent}for _ in range(n):", *block(draw, indent + "    ", 2, draw.randint(1, 3), loops)]
    return lines


def program(seed, loops):
    draw = random.Random(seed)
    lines = [f"    {n} = {draw.choice(['a', 'b', 'np.zeros(3)', 'a * 2', 'np.ones(3) * x'])}" for n in NAMES]
    lines += block(draw, "    ", 0, draw.randint(3, 6), loops)
    result = " + ".join(f"(np.arange(1.0, 4.0) * {n}).sum() * {10**i}" for i, n in enumerate(NAMES))
    return "import numpy as np\n\n\ndef f(a, b, x, y, k, n):\n" + "\n".join(lines) + f"\n    return {result}\n"


@pytest.mark.parametrize("seed", range(drawn(24)))
def test_random_programs(path, seed, tmp_path):
    file = tmp_path / f"one_of_several_{seed}.py"
    file.write_text(program(seed, loops=seed % 2))
    scope: dict = {}
    exec(compile(file.read_text(), str(file), "exec"), scope)
    f = scope["f"]
    for x, y in ((1.5, -0.5), (-0.7, 0.3), (0.4, 0.9)):
        for n in (1, 2):
            try:
                check_value(path, f, A, B, x, y, 1, n)
            except mo.BadInput as error:
                assert "copy" in str(error) and seed % 2
                return
            given = [A.copy(), B.copy(), x, y, 1, n]
            gradient = run_on(path)(mo.grad(f, argnums=(2, 3)))(*given)
            assert np.allclose(gradient, mo.grad(f, argnums=(2, 3))(A.copy(), B.copy(), x, y, 1, n))
