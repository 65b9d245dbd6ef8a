"""An outside list that is used as an index or written into an array is read anew at each call."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

import morula as mo


def written(e, held):
    y = e * 1.0
    y[held] = 3 * e[0]
    return np.sum(y * e)


def added(e, held):
    y = e * 1.0
    y[held] += e[0]
    return np.sum(y * e)


def stored(e, held):
    y = e * 1.0
    y[:2] = held
    return np.sum(y * e)


CASES = {
    # name: (what is held outside, how it is read, how it changes)
    "grown": (lambda: [0, 1], lambda e, held: np.sum(e[held]), lambda held: held.append(1)),
    "replaced": (lambda: [0, 1], lambda e, held: np.sum(e[held]), lambda held: held.__setitem__(0, 2)),
    "in a tuple": (lambda: ([0, 1],), lambda e, held: np.sum(e[held]), lambda held: held[0].append(1)),
    "beside a slice": (
        lambda: [0, 1],
        lambda e, held: np.sum(np.outer(e, e)[:, held]),
        lambda held: held.append(1),
    ),
    "in an object": (
        lambda: SimpleNamespace(places=[0, 1]),
        lambda e, held: np.sum(e[held.places]),
        lambda held: held.places.append(1),
    ),
    "in a dict": (lambda: {"a": [0, 1]}, lambda e, held: np.sum(e[held["a"]]), lambda held: held["a"].append(1)),
    "a mask": (
        lambda: [True, False, True],
        lambda e, held: np.sum(e[held]),
        lambda held: held.__setitem__(1, True),
    ),
    "written": (lambda: [0, 1], written, lambda held: held.append(2)),
    "added to": (lambda: [0, 1], added, lambda held: held.append(2)),
    "stored": (lambda: [1.0, 2.0], stored, lambda held: held.__setitem__(0, 5.0)),
    "of rows": (lambda: [0, 0], lambda e, held: np.sum(np.outer(e, e)[held]), lambda held: held.append(1)),
}


@pytest.mark.parametrize("target", ["native", "xla"])
@pytest.mark.parametrize("name", CASES)
def test_a_list_that_has_changed_is_read_again(name, target):
    make, use, change = CASES[name]
    held, e = make(), np.array([1.0, 2.0, 3.0])
    gradient = mo.grad(lambda e: use(e, held))
    compiled = mo.jit(gradient, target=target)
    before = gradient(e)
    np.testing.assert_allclose(compiled(e), before)
    change(held)
    after = gradient(e)
    assert not np.array_equal(before, after)
    np.testing.assert_allclose(compiled(e), after)
