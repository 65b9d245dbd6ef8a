"""What follows from constants alone is known while compiling: lengths, places, memory order, calls of compiled functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from path_tester import PATHS, check_gradient
from scipy.sparse import _sparsetools

X = np.linspace(1.0, 2.0, 200)


def places_in_a_large_array(x: Any) -> Any:
    p = np.zeros(200, np.int32)
    p[:] = np.arange(200) % 7
    found, inverse = np.unique(p[::2] + 1, return_inverse=True)
    big = np.nonzero(p * 2 > 6)[0]
    return np.sum(x[p[:3]]) * len(big) + np.sum(found) * x[inverse[3]] + np.sum(x[p > 5] ** 2)


def shape_from_a_large_array(x: Any) -> Any:
    counts = np.bincount(np.arange(200) % 9)
    made = np.zeros(counts.max(), dtype=None)
    made[0] = x[counts[2]]
    return np.sum(made + x[1]) / len(made)


def compiled_function_that_writes(x: Any) -> Any:
    """The kernel is written in C: it sees only what is known, and what it writes is seen by the program."""
    indptr, indices = np.arange(0, 202, 2), np.arange(200)
    found = np.zeros(3, indices.dtype)
    _sparsetools.csr_sample_values(
        100, 200, indptr, indices, indices * 2, 3, np.array([0, 1, 2]), np.array([1, 2, 5]), found
    )
    return x[found[0]] * x[found[1]] + x[found[2]]


def order_of_unique_parts(x: Any) -> Any:
    pairs, first = np.unique(np.array([[0, 1, 0], [1, 2, 1]]), axis=1, return_index=True)
    joined = np.hstack((pairs, pairs[:, first[:1]].mean(axis=1, keepdims=True)))
    return x[0] * (2 if joined.flags.c_contiguous else 3) + x[first[1]] * (5 if pairs.flags["F_CONTIGUOUS"] else 7)


def grid_of_a_matrix(x: Any) -> Any:
    a, b = np.meshgrid(x[:4].reshape(2, 2), x[:3])
    return np.sum(a**2 * b)


def sorted_by_several(x: Any) -> Any:
    order = np.lexsort((x[:180:30], np.array([1, 0, 1, 0, 2, 0])))
    kept = x[::40][x[::40] > 1.3]
    later = np.lexsort((-kept, kept > 1.71))
    return np.sum(x[:180:30][order] * np.arange(6)) + np.sum(kept[later] * np.arange(len(kept)))


def entries_as_a_list(x: Any) -> Any:
    total = 0.0
    for i in (np.arange(100) % 5)[::9].tolist():
        total = total + x[i] ** 2
    return total


def error_on_a_path_not_taken(x: Any) -> Any:
    singular = np.zeros((2, 2))
    return np.sum(np.linalg.inv(singular)) if x[0] > 5 else x[0] ** 2


def known_number_under_a_mask(x: Any) -> Any:
    first = np.exp(np.concatenate([np.zeros(1), x])[0])
    mask = np.logical_not(np.isclose(np.linalg.norm(x), 0.0))
    return np.sum(first[mask, np.newaxis] * x)


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(
    "f",
    [
        places_in_a_large_array,
        shape_from_a_large_array,
        compiled_function_that_writes,
        order_of_unique_parts,
        grid_of_a_matrix,
        sorted_by_several,
        entries_as_a_list,
        error_on_a_path_not_taken,
        known_number_under_a_mask,
    ],
)
def test_program(f: Callable[..., Any], path: str) -> None:
    check_gradient(path, f, X)
