"""Functional programming: curried functions, pipes, lazy iterators, groups."""

from __future__ import annotations

import math
import operator

import toolz
import toolz.curried as curried

from thirdparty.harness import Call

DISTRIBUTION = "toolz"
FIELD = "functional programming"


@toolz.curry
def weighted(a: float, b: float, shift: float = 1.0) -> float:
    return a * b + shift


def piped(x: float) -> float:
    return toolz.pipe([x, -x, 2 * x], curried.map(lambda v: v**2), curried.filter(lambda v: v > 3), sum)


CALLS = {
    "curried": Call(lambda x: weighted(x)(2.0 * x, shift=x), 1.5),
    "piped": Call(piped, 1.5),
    "composed": Call(lambda x: toolz.compose(math.exp, math.sin)(x) + toolz.juxt(math.cos, abs)(x)[0], 1.5),
    "reduced_by_key": Call(lambda x: toolz.reduceby(lambda v: v > 1, operator.add, [x, 0.2 * x, 2 * x], 0.0), 1.5),
    "windows": Call(lambda x: [u * v for u, v in toolz.sliding_window(2, [x, 2 * x, x * x])], 1.5),
    "iterated": Call(lambda x: toolz.nth(5, toolz.iterate(lambda v: v * x + 0.1, 1.0)), 0.8),
    "interleaved": Call(lambda x: list(toolz.interleave([[x, 1.0], [2 * x, x * x, 3.0]])), 1.5),
    "nested_update": Call(lambda x: toolz.update_in({"a": {"b": x}}, ["a", "b"], lambda v: v * v), 1.5),
    "memoized": Call(lambda x: toolz.memoize(lambda v: v * v)(x), 1.5),
}
