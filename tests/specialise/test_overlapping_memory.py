"""Arguments that overlap each other or themselves: as in Python, or refused before anything is written."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.lib.stride_tricks import as_strided

import morula as mo


def written(a, b):
    a[0] = 5.0
    a[1] = b[0] + b[1]
    return b.sum()


def read(a, b):
    return a.sum() + a[0] * b[0]


def both(a, b):
    a[0] = 5.0
    b[1] = a[0] + 1
    return a.sum() + b.sum()


def pair(first, second):
    def make():
        x = np.arange(8.0)
        return x, first(x), second(x)

    return make


PAIRS = {
    "apart": (pair(lambda x: x[:4], lambda x: x[4:]), False),
    "interleaved": (pair(lambda x: x[::2], lambda x: x[1::2]), False),
    "columns": (pair(lambda x: x.reshape(4, 2)[:, 0], lambda x: x.reshape(4, 2)[:, 1]), False),
    "overlapping": (pair(lambda x: x[:4], lambda x: x[1:]), True),
    "reversed": (pair(lambda x: x, lambda x: x[::-1]), True),
    "a view of all": (pair(lambda x: x, lambda x: x[:]), True),
    "the same": (pair(lambda x: x, lambda x: x), False),
}


@pytest.mark.parametrize("f", [written, read, both])
@pytest.mark.parametrize("name", PAIRS)
def test_two_arguments(f, name, target):
    make, shares = PAIRS[name]
    (plain, *args), (given, *compiled) = make(), make()
    expected = f(*args)
    if shares and f is not read:
        with pytest.raises(mo.BadInput, match="shares memory with another argument"):
            mo.jit(f, target=target)(*compiled)
        assert given.tolist() == np.arange(8.0).tolist()
    else:
        assert mo.jit(f, target=target)(*compiled) == expected
        assert given.tolist() == plain.tolist()


def doubled(a):
    a *= 2.0
    return a.sum()


@pytest.mark.parametrize(
    "view, overlaps",
    [
        (lambda x: x[::-1], False),
        (lambda x: x[::2], False),
        (lambda x: x.reshape(2, 4).T, False),
        (lambda x: x.reshape(2, 4)[:, ::2], False),
        (lambda x: as_strided(x, (3,), (0,)), True),
        (lambda x: as_strided(x, (3, 3), (8, 8)), True),
        (lambda x: as_strided(x, (3, 2), (8, 16)), True),
    ],
)
def test_one_argument(view, overlaps, target):
    plain, given = np.arange(8.0), np.arange(8.0)
    if overlaps:
        assert mo.jit(np.sum, target=target)(view(given)) == view(plain).sum()
        with pytest.raises(mo.BadInput, match="several elements share memory; pass a copy"):
            mo.jit(doubled, target=target)(view(given))
    else:
        assert mo.jit(doubled, target=target)(view(given)) == doubled(view(plain))
    assert given.tolist() == plain.tolist()


MASKS = {
    "an array": lambda x: np.array([True, True, False, True]),
    "a list": lambda x: [True, True, False, True],
    "in a tuple": lambda x: (np.array([True, True, False, True]),),
}


@pytest.mark.parametrize("mask", MASKS.values(), ids=MASKS)
def test_a_write_by_a_mask_from_the_same_memory_is_refused(mask, target):
    """NumPy reads what it has written: in the order of the memory, which compiled code does not keep."""

    def reversed_(x):
        x[mask(x)] = x[::-1][:3]
        return x.sum()

    def copied(x):
        x[mask(x)] = x[::-1][:3].copy()
        return x.sum()

    with pytest.raises(
        mo.BadInput,
        match=r"entries selected by a mask are assigned from an array in the same memory(.|\n)*copy it first",
    ):
        mo.jit(reversed_, target=target)(np.arange(4.0))
    given, plain = np.arange(4.0), np.arange(4.0)
    assert mo.jit(copied, target=target)(given) == copied(plain)
    assert given.tolist() == plain.tolist()
