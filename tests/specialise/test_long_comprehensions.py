"""Long comprehensions and generator expressions: recorded as loops, so that compiling does not take longer for more items."""

from __future__ import annotations

import itertools
import math
import operator
import statistics
from collections import Counter

import numpy as np
import pytest
from path_tester import check_gradient, run_on

import morula as mo
from morula.core.ir.dynamic import walk
from morula.core.specialise import comprehensions

X = np.linspace(0.1, 1.0, 66)
ROWS = np.random.default_rng(0).normal(size=(66, 2))


def f(v, s):
    return np.sin(v * s) * v + s


def at_an_index(x, s):
    return sum([f(x[i], s) for i in range(len(x))])


def over_an_array(x, s):
    found = np.array([f(v, s) for v in x])
    return found @ x + np.mean(found) + max(found)


def zipped(x, s):
    return sum([f(a, b * s) for a, b in zip(x, x[::-1])])


def enumerated_under_a_condition(x, s):
    return sum([f(a, i * s) for i, a in enumerate(x) if i % 3 and a < 0.8])


def tuples(x, s):
    pairs = [(v, f(v, s)) for v in x]
    return sum(a * b for a, b in pairs) + pairs[3][1] * pairs[-1][0]


def rows(x, s):
    found = [np.tanh(ROWS[i] * s * x[i]) for i in range(len(x))]
    return np.sum(np.stack(found) ** 2) + np.sum(np.concatenate(found)) + found[3][1]


def kernel(x, s):
    """The list of lists becomes a matrix."""
    return np.sum(np.array([[np.exp(-((a - b) ** 2) / s) for b in x[:14]] for a in x[:20]]) @ x[:14])


def transposed(x, s):
    table = [[a * b * s + a for b in x[:20]] for a in x[:20]]
    columns = [[row[j] for row in table] for j in range(20)]
    return columns[3][4] * table[-1][2] + sum([columns[j][j] for j in range(20)])


def extremes(x, s):
    found = [f(v, s) for v in x]
    return max(found) * min(found) + sorted(found)[len(found) // 2]


def of_many_arguments(x, s):
    found = [f(v, s) for v in x]
    return max(*found) + min(list(x)) * s + math.dist(found, list(x))


def neighbours(x, s):
    found = [f(v, s) for v in x]
    return sum(a * b for a, b in zip(found, found[1:])) + sum(found[::2])


def changed_afterwards(x, s):
    found = [f(v, s) for v in x]
    found.append(s)
    found[4] = s * s
    for i in range(30):
        found.append(found[i] * s)
    for i in range(20):
        found[0] += found.pop() * i
    return sum(found) * len(found)


def unpacked(x, s):
    first, *others = [f(v, s) for v in x]
    return first * others[3] + np.hypot(*others[:2])


def generators(x, s):
    pairs = sum(f(x[i] * x[j], s) for i in range(20) for j in range(i))
    return pairs + max(f(v, s) for v in x) + any(f(v, s) > 1.0 for v in x) + len(tuple(v * s for v in x if v > 0.5))


def parts_of_different_lengths(x, s):
    """No list of unknown length can hold them, so the iterations are unrolled."""
    return np.sum(np.concatenate([x[: 1 + i % 3] * f(x[i], s) for i in range(60)]))


def known_numbers(x, s):
    """The positions are known while compiling, so they can be the lengths of parts."""
    lengths = [2 * i % 7 for i in range(66)]
    return np.sum(x[[i + n for i, n in enumerate(lengths) if i + n < 66]]) * s + np.sum(x[: lengths[3]])


@pytest.mark.parametrize(
    "program",
    [
        at_an_index, over_an_array, zipped, enumerated_under_a_condition, tuples, rows, kernel, transposed, extremes, of_many_arguments,
        neighbours, changed_afterwards, unpacked, generators, parts_of_different_lengths, known_numbers,
    ],
)  # fmt: skip
def test_values_and_gradients(path, program):
    check_gradient(path, program, X, 0.7)


@pytest.mark.parametrize("program", [at_an_index, over_an_array, zipped, tuples, neighbours, generators, kernel])
def test_a_program_does_not_grow_with_the_items(program):
    def size(n):
        return len([*walk(mo.jit(program).lower(X[:n], 0.7).compilation.function.block)])

    assert size(66) == size(60) < 300


def test_ints_and_floats_in_one_list_are_floats():
    @mo.jit(target="native")
    def of_both(x, s):
        return [float(v) * s * s + s if i % 2 else 0 for i, v in enumerate(x)]

    found = of_both(X, 0.7)
    assert {type(v) for v in found} == {float}
    np.testing.assert_allclose(found, [v * 0.49 + 0.7 if i % 2 else 0 for i, v in enumerate(X)])


def test_items_can_be_changed():
    """They cannot in a list of unknown length, so the iterations are unrolled."""

    def program(x, s):
        parts = [np.array([v * s, s]) for v in x]
        parts[5][1] = 3.0 * s
        return np.sum(parts[5]) * parts[6][0]

    check_gradient("native", program, X, 0.7)


def test_a_warning_for_many_unrolled_operations(monkeypatch):
    monkeypatch.setattr(comprehensions, "MANY", 100)
    with pytest.warns(
        RuntimeWarning, match=r"a comprehension is unrolled into \d+ operations, .*\n  in parts_of_different_lengths"
    ):
        mo.jit(parts_of_different_lengths, target="native").lower(X, 0.7)


def ordered(x):
    items = [f(v, 2.0) for v in x]
    found = sorted(items)
    items.sort(key=lambda v: -v)
    return found[0], found[-1], items[0], items[-1], sorted(items, reverse=True)[3]


def looked_up(x):
    items = [f(v, 2.0) for v in x]
    return items.index(items[17]), items.count(items[17]), items[5] in items, 99.0 in items, len(str(items)) > 0


def changed_in_length(x):
    items = [f(v, 2.0) for v in x]
    first, last = items.pop(0), items.pop()
    items.insert(1, x[5])
    items.remove(items[2])
    del items[10:20]
    items[5:7] = [x[0], x[1], x[2]]
    return first, last, items[1], items[6], items[-1], len(items), sum(items[3:30:2])


def compared(x):
    items, others = [f(v, 2.0) for v in x], [f(v, 2.0) for v in x[::-1]]
    return items == others, items != others, items < others, bool(items), items == [f(v, 2.0) for v in x]


def taken_apart(x):
    a, *middle, b = [f(v, 2.0) for v in x]
    first, second = zip(*[[v, v * v] for v in x])
    return a, b, len(middle), middle[3], first[4], second[-1]


def in_c(x):
    items = [f(v, 2.0) for v in x]
    others = [x[0]]
    others.extend(items)
    joined = list(itertools.chain.from_iterable([[v, 2 * v] for v in x]))
    return (
        sum([a * b for a, b in itertools.combinations(items[:20], 2)]),
        operator.itemgetter(1, 5)(items)[1],
        sum(itertools.islice(items, 5, 50)),
        others[3],
        joined[5],
        statistics.fmean(items),
        math.hypot(*items[:5]),
    )


@pytest.mark.parametrize("path", ["native", "xla"])
@pytest.mark.parametrize("program", [ordered, looked_up, changed_in_length, compared, taken_apart, in_c])
def test_functions_of_lists(path, program):
    x = np.random.default_rng(1).permutation(X)
    np.testing.assert_allclose(np.array(run_on(path)(program)(x), float), np.array(program(x), float), rtol=1e-12)


def grown(x, limit):
    items = []
    for v in x:
        if v < limit:
            items.append(v)
    return items


@pytest.mark.parametrize(
    "program",
    [
        lambda x: len({f(v, 2.0) for v in x}),
        lambda x: len(set([f(v, 2.0) for v in x])),
        lambda x: len(dict.fromkeys([f(v, 2.0) for v in x])),
        lambda x: len(Counter([f(v, 2.0) for v in x])),
        lambda x: len(set(grown(x, 0.5))),
        lambda x: len(list(itertools.combinations(grown(x, 0.5), 2))),
        lambda x: x[0] * hash(tuple(grown(x, 0.5))),
    ],
)
def test_what_depends_on_unknown_numbers_or_lengths_is_refused(program):
    with pytest.raises(
        mo.BadInput, match="must be known while compiling|known only at run time|one that is known while compiling"
    ):
        mo.jit(program, target="native")(X)
