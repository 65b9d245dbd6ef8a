"""A name bound to an array on one path, while another path writes to it: each path gives its own final state."""

from __future__ import annotations

import linecache

import numpy as np
import pytest

import morula as mo

PRELUDE = "import numpy as np\n\nOUTSIDE = np.array([0.5, 1.0, -2.0])\n\n\n"
READS = {"an entry": "b[0]", "an array from outside": "np.sum(OUTSIDE * b)"}
WRITES = {
    "an entry": "d[0] = {}",
    "all of it": "d *= {}",
    "by a mask": "d[b < 0.2] = {}",
    "by another name": "e = d; e[1:] = {}",
}
NAMES = {
    "the array": "t1 = d",
    "a view": "t1 = d[1:]",
    "a list": "t1 = [d, 1.0]",
    "an object": "t1 = Box(d)",
    "a number": "t1 = d.sum()",
}
PROGRAM = """\
class Box:
    def __init__(self, v): self.v = v


def program(a, b, d):
    if a > 0.0:
        pass
    elif a < -0.5:
        {write}
        t0 = b.sum()
    else:
        {name}
    return a * a + d.sum() * b[1]
"""


@pytest.mark.parametrize("read", READS.values(), ids=READS)
@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
@pytest.mark.parametrize("name", NAMES.values(), ids=NAMES)
def test_each_path_yields_the_array_as_it_left_it(read, write, name):
    text = PRELUDE + PROGRAM.format(write=write.format(read), name=name)
    file = f"<names: {write} {read} {name}>"
    linecache.cache[file] = len(text), None, text.splitlines(keepends=True), file
    scope = {"__name__": "names"}
    exec(compile(text, file, "exec"), scope)
    f = scope["program"]
    compiled = mo.jit(mo.value_and_grad(f, (0, 1)))
    for a in (0.3, -0.3, -0.8):
        plain, given = np.array([0.4, -1.3, 0.7]), np.array([0.4, -1.3, 0.7])
        b = np.array([0.7, 1.3, 0.1])
        expected, slopes = f(a, b, plain), mo.gradient(f, a, b, np.array([0.4, -1.3, 0.7]))
        value, found = compiled(a, b, given)
        assert value == pytest.approx(expected, rel=1e-12)
        np.testing.assert_allclose(given, plain, rtol=1e-12)
        assert found[0] == pytest.approx(slopes[0], rel=1e-9)
        np.testing.assert_allclose(found[1], slopes[1], rtol=1e-9)


def _variable(x):
    for i in range(3):
        if x > 1.0:
            b = x * i
    return x * b


def _list(x):
    for i in range(3):
        if x > 1.0:
            b = [x, x * i]
    return b


def _inner_loop(x):
    for _ in range(2):
        for i in range(int(x)):
            b = x * i
    return b


def _key(x):
    d = {}
    for i in range(3):
        if x > 1.0:
            d["k"] = x * i
    return d.get("k", -7.0)


def _of_the_caller(x):
    d = {"k": x}
    _changed(d, x)
    return len(d) * d["k"]


def _changed(d, x):
    for i in range(3):
        if x > 1.0:
            d["m"] = x * i


def _after_another_kind(x):
    if x > 0.2:
        b = x
    for i in range(3):
        if x > 1.0:
            b = [x, i]
    return b


@pytest.mark.parametrize("target", ["native", "xla"])
@pytest.mark.parametrize("f", [_variable, _list, _inner_loop, _key, _of_the_caller, _after_another_kind])
def test_what_no_iteration_of_a_loop_that_runs_has_assigned(f, target):
    compiled = mo.jit(f, target=target)
    for x in (0.1, 0.5, 2.5):
        try:
            expected = f(x)
        except UnboundLocalError as error:
            with pytest.raises((UnboundLocalError, mo.BadInput), match=f"{error}|in both|on both paths"):
                compiled(x)
            continue
        try:
            assert compiled(x) == expected
        except mo.BadInput as error:
            assert "in both" in str(error) or "on both paths" in str(error)


@pytest.mark.parametrize("target", ["native", "xla"])
def test_keys_that_no_iteration_has_added_to_an_argument(target):
    compiled = mo.jit(_changed, target=target)
    for x in (0.5, 2.5):
        here, there = {"k": x}, {"k": x}
        try:
            compiled(here, x)
            _changed(there, x)
        except mo.BadInput as error:
            assert "on both paths" in str(error)
        assert here == there
