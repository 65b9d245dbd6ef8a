"""Writes whose source overlaps their target: right, or refused where NumPy reads what it has written."""

from __future__ import annotations

import itertools
import linecache

import numpy as np
import pytest

import morula as mo
from morula.core.testing.differences import vjp_by_differences

X = np.array([0.3, 1.1, -0.7, 1.9, 0.6, -1.4])

TARGETS = (
    *("x[:] = {}", "x[...] = {}", "x[[0, 1, 2, 3, 4, 5]] = {}", "x[np.arange(6)] = {}", "x[np.arange(6)[::-1]] = {}"),
    *("x[[True] * 6] = {}", "x[np.ones(6, bool)] = {}", "x[np.ones(6, bool),] = {}", "x[([True] * 6,)] = {}"),
    *("x.flat = {}", "x.flat[:] = {}", "x.flat[[0, 1, 2, 3, 4, 5]] = {}", "x.flat[np.ones(6, bool)] = {}"),
    *("x.real = {}", "x.real[:] = {}", "x.put(range(6), {})", "np.put(x, np.arange(6), {})", "np.copyto(x, {})"),
    *("np.copyto(x, {}, where=[True] * 6)", "np.putmask(x, [True] * 6, {})", "np.place(x, [True] * 6, {})"),
    *("np.put_along_axis(x, np.arange(6), {}, 0)", "x.setfield({}, float)", "x.__setitem__(slice(None), {})"),
    *("np.negative({}, out=x)", "np.positive({}, x, where=M)", "np.add({0}, {0}, x)", "np.clip({}, -1.0, 1.5, x)"),
    *("np.take({}, [5, 0, 1, 2, 3, 4], out=x)", "np.cumsum({}, out=x)", "np.add.accumulate({}, 0, None, x)"),
    *(
        "np.concatenate([{0}[3:], {0}[:3]], out=x)",
        "np.round({}, 1, x)",
        "x += {}",
        "x *= {}",
        "np.add.at(x, range(6), {})",
    ),
)
SOURCES = ("x[::-1]", "np.flip(x)", "x", "x.reshape(2, 3)[::-1].reshape(-1)", "x[::-1].copy()", "(x * 1.0)")
PARTS = ("x[1:].flat = x[:-1]", "x[:-1].flat = x[1:]", "x[1:] = x[:-1]", "x[::2].flat = x[::-2]", "x[1:][[True] * 5] = x[:-1]",
         "m.flat = m[::-1]", "m.flat = m.T[:2, :2]", "m[:] = m[::-1]", "m.T.flat = m", "m[[True, True]] = m[::-1]",
         "m[M[:2]] = m[::-1]", "m[:, [True, False, True]] = m[:, 1:]", "x[4:2:-1].flat = x[2:4]")  # fmt: skip

PROGRAMS = [target.format(source) for target, source in itertools.product(TARGETS, SOURCES)] + list(PARTS)


def program(text: str):
    lines = ["def f(x0):", "    x = x0 * 1.0", "    m = x.reshape(2, 3)", f"    {text}", "    return np.sum(W * x)"]
    filename = f"<{text}>"
    linecache.cache[filename] = (0, None, [line + "\n" for line in lines], filename)
    scope = {"np": np, "M": np.array([True, True, False, True, True, False]), "W": np.array([1.0, 3, -2, 5, 7, 11])}
    exec(compile("\n".join(lines), filename, "exec"), scope)
    return scope["f"]


@pytest.mark.parametrize("text", PROGRAMS)
def test_a_write_over_its_source_is_right_or_refused(text):
    f = program(text)
    try:
        expected = f(X)
    except (ValueError, TypeError, IndexError) as error:
        with pytest.raises(type(error)):
            mo.grad(f)(X)
        return
    try:
        value, gradient = mo.value_and_grad(f)(X)
    except mo.NoDerivative as refusal:
        assert "copy it first" in str(refusal) or "pass a separate array" in str(refusal)
        assert "x[::-1].copy()" not in text and "(x * 1.0)" not in text, "nothing is shared"
        return
    assert value == pytest.approx(expected, rel=1e-12)
    (slopes,), _ = vjp_by_differences(f, 1.0, (X,), step=1e-3)  # between the jumps of np.round
    np.testing.assert_allclose(gradient, slopes, rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("text", ["x[[True] * 6] = x[::-1]", "x.flat = x[::-1]", "x[1:].flat = x[:-1]"])
def test_a_write_that_reads_what_it_has_written_is_refused_also_among_equal_numbers(text):
    with pytest.raises(mo.NoDerivative, match="overwritten before they are read; copy it first"):
        mo.grad(program(text))(np.ones(6))
