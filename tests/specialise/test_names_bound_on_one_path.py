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
