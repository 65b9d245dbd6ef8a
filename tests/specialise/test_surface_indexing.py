"""Every kind of index in compiled programs means what it does in NumPy: reads, writes, updates and views."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from surface_trace import call, check, raises_when_run, traced

from morula.core.errors import BadInput
from morula.core.ir.dynamic import walk
from morula.core.ir.typed import Dim, raise_if

MATRIX = np.arange(12.0).reshape(3, 4)
VECTOR = np.array([3.0, 1.0, 4.0, 1.0, 5.0])
CUBE = np.arange(24.0).reshape(2, 3, 4)


@pytest.mark.parametrize("i", [0, 2, -1, -3])
def test_a_number_that_is_not_known_indexes_from_either_end(i):
    check(lambda a, i: (a[i], a[i, 1:], a[:, i], a[..., i, None], a[i][i]), MATRIX, i)


@pytest.mark.parametrize("i", [3, -4])
def test_an_index_out_of_range_raises_when_the_program_runs(i):
    raises_when_run(lambda a, i: a[i], MATRIX, i, error=IndexError)


def test_a_known_index_out_of_range_raises_at_once():
    with pytest.raises(IndexError, match="index 5 is out of bounds for axis 0 with size 3"):
        traced(lambda a: a[5], MATRIX)
    with pytest.raises(IndexError, match="too many indices for array"):
        traced(lambda a: a[0, 0, 0], MATRIX)


@pytest.mark.parametrize("k", [-9, -2, 0, 1, 3, 9])
@pytest.mark.parametrize("step", [1, 2, -1, -3])
def test_slices_with_bounds_that_are_not_known_are_clamped(k, step):
    check(lambda a, k: (a[k::step], a[:k:step], a[k : k + 2 : step], a[-k:k:step]), VECTOR, k)


def test_a_slice_between_an_index_and_its_sum_with_a_number_has_at_most_that_many_elements():
    function, _, (leaf,) = traced(lambda a, k: a[k : k + 3], np.arange(10.0), 2)
    assert leaf.type.bounds == (3,)


def test_lengths_that_are_provably_one_value_need_no_check():
    function, _, _ = traced(lambda a, b, k: a[:k] * b[:k] + a[1 : k + 1] * b[k : 2 * k], VECTOR, VECTOR, 2)
    lengths = {n.value for op in walk(function.block) for r in op.results for n in r.type.shape if isinstance(n, Dim)}
    assert len(lengths) > 1  # k is not known to be in range: a[:k] and a[1:k+1] may differ
    function, _, _ = traced(lambda a, b, k: a[:k] * b[:k], VECTOR, VECTOR, 2)
    assert not any(op.callee is raise_if for op in walk(function.block))


def test_index_arrays_stand_where_numpy_puts_their_dimensions():
    rows, columns = np.array([0, -1, 1]), np.array([[1], [0]])
    check(
        lambda a, r, c: (a[0, r], a[:, r], a[r], a[0, :, r], a[r, c], a[..., r], a[:, r, c], a[r, :, c], a[:, None, r]),
        CUBE % 5,
        rows % 2,
        columns,
    )


def test_index_arrays_out_of_range_raise():
    raises_when_run(lambda a, i: a[i], VECTOR, np.array([0, 5]), error=IndexError)
    raises_when_run(lambda a, i: a[i], VECTOR, np.array([0, -6]), error=IndexError)


def test_known_masks_and_lists_are_index_arrays():
    mask = np.array([True, False, True])
    check(lambda a: (a[mask], a[mask, 0], a[[0, 2]], a[:, [1, 0]], a[[]], a[MATRIX > 5]), MATRIX)


def test_masks_that_are_not_known_name_parts_of_a_length_that_is_not_known():
    def read(a, v):
        b = a[a > 1]
        return (
            *(b, b * 2, b.sum(), b.mean(), np.sort(b), b[::-1], b[0], b.size, b @ b),
            *(a[a[:, 0] > 0], a[:, v[:4] > 1], v[v > 100], v[v > 100].sum(), a[a[:, 0] > 1, 1]),
            *(*np.nonzero(a > 1), np.flatnonzero(v > 1), np.argwhere(a > 5), np.extract(a > 1, a), np.where(v > 3)[0]),
            *(np.compress(v[:3] > 2, a, 0), np.unique(v), np.unique(a)),
        )

    check(read, MATRIX % 5, VECTOR)


def test_masks_that_are_not_known_can_be_written_through():
    def write(a, x, v):
        a[a > 6] = x
        a[a[:, 0] > 3] = np.arange(4.0)
        a[a < 3] *= -2
        a[1, a[1] < 6] = 50
        v[v > 2] = v[v > 2] ** 2
        a[a[:, 0] < 0] = a[a[:, 0] < 0][:, ::-1]

    check(write, MATRIX, -1.0, VECTOR)


@pytest.mark.parametrize("known", [True, False])
def test_a_bool_indexes_a_new_dimension_that_has_one_element_or_none(known):
    rows = np.array([0, 1])

    def read(a, i):
        flag = i > 0
        return (
            *(a[flag], a[:, flag], a[0, flag], a[flag, :, 0], a[..., 0, flag], a[0, None, flag]),
            *(a[known], a[:, known], a[0, known], a[known, :, 0], a[..., 0, known], a[0, None, known], a[flag, 1]),
            *(a[np.array(known)], a[True, a[:, 0] > 0], a[True, rows], a[rows, :, True], a[True, ..., rows]),
            *(a[0, 0][flag], a[None, a[:, 0] > 0], a[0, 0][known]),
        )

    def write(a, i):
        flag, number = i > 0, a[0, :1].reshape(()).copy()
        a[flag] += 1
        a[known] *= 2
        a[1:, known] = 7
        a[0, flag] = a[1, flag] * 3
        number[number > 1] = number[number > 1] ** 2
        number[flag] = -1.0
        return number

    for i in (0, 1):
        check(read, MATRIX, i)
        check(write, MATRIX, i)


def test_index_arrays_that_do_not_fit_each_other_raise():
    for read in (lambda a: a[False, [0, 1]], lambda a: a[[0, 1], [0, 1, 2]], lambda a: a[[[0, 1]], ..., [0, 1, 2]]):
        with pytest.raises(IndexError) as expected:
            read(MATRIX)
        with pytest.raises(IndexError) as found:
            traced(read, MATRIX)
        assert str(found.value) == str(expected.value)
    raises_when_run(lambda a: a[a[:, 0] > 0, [0, 1, 2]], MATRIX, error=(IndexError, ValueError))
    with pytest.raises(BadInput, match="then by the bool"):
        traced(lambda a: a[a[0, 0] > 0, [0, 1]], MATRIX)


def test_values_written_where_a_mask_holds_must_be_as_many():
    def write(v):
        v[v > 2] = np.arange(2.0)

    raises_when_run(write, VECTOR, error=ValueError)


def test_writes_convert_and_broadcast():
    def write(a, i, x):
        a[i] = 7
        a[:, 1] = x
        a[0, ::2] = [1, 2]
        a[1:, 2:] = a[:2, :2]
        a[...] += 1
        a[i, i] -= 2.5
        a[-1][-1] = 3

    check(write, MATRIX, 1, 0.5)
    check(write, MATRIX.astype(np.float32), 2, 0.5)
    check(write, MATRIX.astype(np.int64), 2, 3)


def test_a_write_that_does_not_fit_is_refused():
    def wrong(a):
        a[0] = np.zeros(3)

    with pytest.raises(BadInput, match=r"could not broadcast input array from shape \(3,\) into shape \(4,\)"):
        traced(wrong, MATRIX)

    def no_complex(a):
        a[0] = 1j

    with pytest.raises(BadInput, match="complex"):
        traced(no_complex, MATRIX)


def test_views_share_memory_and_copies_do_not():
    def program(a, i):
        row, column, flat, turned = a[i], a[:, 0], a.reshape(-1), a.T
        copied = a.T.reshape(-1)
        row[1:] *= 2
        column[...] = -column[::-1]
        flat[5] = 50
        turned[2, 0] += 100
        a[::-1, ::2][0] = 9
        inner = a[1:][:, 1:3][0]
        inner += 1000
        np.swapaxes(a, 0, 1)[3] = row[0]
        call(np.squeeze, a[None, :1])[0] = 77
        return row, column, flat, turned, copied

    check(program, MATRIX, 1)
    check(program, MATRIX, -1)


def test_real_and_imaginary_parts_are_views():
    def program(z):
        z.real[0] = 5
        imaginary = z.imag
        imaginary += 1
        return z.real, z.imag

    check(program, MATRIX + 1j)


def test_a_part_that_is_assigned_to_itself_after_an_update_in_place_is_written_once():
    def program(a, i):
        a[i] += 1
        a[1:, i] *= 2

    function = check(program, MATRIX, 1)
    assert sum(getattr(op.callee, "__name__", "") == "setitem" for op in walk(function.block)) == 2


def test_what_is_named_twice_is_added_twice_by_add_at_only():
    def program(a, i):
        np.add.at(a, i, 1.0)
        np.subtract.at(a, (i, 0), 0.5)
        a[i] += 10

    check(program, MATRIX, np.array([0, 2, 0]))


def test_functions_that_pick_and_put():
    def program(a, i):
        parts = (
            np.take(a, i),
            np.take(a, i, 1),
            np.take(a, i + 9, 0, mode="clip"),
            np.take_along_axis(a, np.argsort(a, 1), 1),
        )
        np.put(a, i, -1.0)
        np.put_along_axis(a, np.argmax(a, 0, keepdims=True), 99.0, 0)
        call(np.fill_diagonal, a, 8.0)
        a.flat[1] = 5
        return parts

    check(program, MATRIX, np.array([2, 0, 1]))


bound = st.one_of(st.none(), st.integers(-6, 6))
step = st.one_of(st.none(), st.sampled_from([-3, -2, -1, 1, 2, 3]))
entry = st.one_of(
    st.integers(-2, 1),
    st.builds(slice, bound, bound, step),
    st.none(),
    st.lists(st.integers(-2, 1), min_size=2, max_size=2).map(np.array),
)


@settings(max_examples=60, deadline=None)
@given(st.lists(entry, max_size=4), st.integers(0, 3), st.booleans(), st.integers(-2, 1))
def test_any_index_reads_and_writes_what_it_does_in_numpy(entries, ellipsis_at, has_ellipsis, shift):
    index: list[Any] = list(entries)
    if has_ellipsis:
        index.insert(min(ellipsis_at, len(index)), Ellipsis)
    base = np.arange(4.0 * 3 * 5).reshape(4, 3, 5)
    try:
        base[tuple(index)]
    except IndexError:
        return

    def program(a, n):
        known = tuple(e + n if isinstance(e, int) else _moved(e, n) for e in index)
        part = a[known] * 1.0
        a[known] = -1.0
        a[known] += 3.0
        return part

    check(program, base, 0)
    try:
        base[tuple(e + shift if isinstance(e, int) else _moved(e, shift) for e in index)]
    except IndexError:
        return
    check(program, base, shift)


def _moved(e: Any, n: Any) -> Any:
    """A slice with its bounds moved by a number that is not known."""
    if not isinstance(e, slice):
        return e
    return slice(None if e.start is None else e.start + n, None if e.stop is None else e.stop + n, e.step)


def _is_possible(step: Any, a: np.ndarray) -> bool:
    try:
        return isinstance(step(a, 0), np.ndarray)
    except (IndexError, ValueError):
        return False


STEPS = {
    "row": lambda a, k: a[k],
    "last": lambda a, k: a[..., -1 - k],
    "rest": lambda a, k: a[1 + k :],
    "up to": lambda a, k: a[: 2 + k],
    "every other": lambda a, k: a[..., ::2],
    "backward": lambda a, k: a[::-1],
    "columns": lambda a, k: a[:, 1:3],
    "wider": lambda a, k: a[:, None],
    "turned": lambda a, k: a.T,
    "exchanged": lambda a, k: np.swapaxes(a, 0, -1),
    "flipped": lambda a, k: np.flip(a),
    "flat": lambda a, k: a.reshape(-1),
    "in two": lambda a, k: a.reshape(2, -1),
    "columns of one": lambda a, k: a.reshape(-1, 1),
    "raveled": lambda a, k: a.ravel(),
    "squeezed": lambda a, k: call(np.squeeze, a[None]),
    "moved": lambda a, k: np.moveaxis(a, 0, -1),
}


@settings(max_examples=80, deadline=None)
@given(st.lists(st.sampled_from(sorted(STEPS)), min_size=1, max_size=5), st.integers(0, 3), st.booleans())
def test_views_of_views_share_memory_where_they_do_in_numpy(names, at, known):
    base = np.arange(24.0).reshape(2, 3, 4)
    possible, seen = [], base
    for name in names:
        if seen.size and seen.ndim and _is_possible(STEPS[name], seen):
            possible.append(STEPS[name])
            seen = STEPS[name](seen, 0)

    def program(a, k):
        views, k = [a], 0 if known else k
        for step in possible:
            views.append(step(views[-1], k))
        views[-1][...] *= 2
        views[at % len(views)][...] += 100
        a[1, 2, 3] = -1
        return views

    try:
        check(program, base, 0)
    except BadInput as error:
        assert "known only when the program runs" in str(error) and not known  # what is a view depends on a length
