"""Tensors and their decompositions, with every function taken from a back end at the call."""

from __future__ import annotations

import numpy as np
import tensorly as tl
from tensorly.cp_tensor import cp_norm, cp_to_tensor
from tensorly.decomposition import parafac, tensor_train, tucker
from tensorly.tenalg import khatri_rao, mode_dot, multi_mode_dot
from tensorly.tt_tensor import tt_to_tensor

from thirdparty.harness import Call

DISTRIBUTION = "tensorly"
FIELD = "arrays"
HELD_OUT = True

CUBE = np.sin(np.arange(24.0) ** 1.2).reshape(2, 3, 4)
FACTORS = [np.cos(np.arange(2.0 * n)).reshape(n, 2) for n in (2, 3, 4)]


def folded(cube: np.ndarray) -> np.ndarray:
    return tl.fold(tl.unfold(cube, 1) ** 2, 1, (2, 3, 4)) * tl.partial_tensor_to_vec(cube, 0).sum()


def from_factors(a: np.ndarray, b: np.ndarray, weights: np.ndarray) -> np.ndarray:
    return cp_to_tensor((weights, [a, b, FACTORS[2]])) * cp_norm((weights, [a, b, FACTORS[2]]))


def multiplied(cube: np.ndarray, matrix: np.ndarray) -> np.ndarray:
    return multi_mode_dot(mode_dot(cube, matrix, 1), [FACTORS[0].T, None, FACTORS[2].T], modes=None, skip=1)


def columns_combined(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return khatri_rao([a, b, FACTORS[2]])


def canonical(cube: np.ndarray) -> np.ndarray:
    start = (np.ones(2), [f.copy() for f in FACTORS])
    return cp_to_tensor(parafac(cube, 2, n_iter_max=5, init=start, tol=0))


def orthogonal(cube: np.ndarray) -> np.ndarray:
    core, factors = tucker(cube, rank=[2, 2, 2], n_iter_max=3, tol=0)
    return tl.tucker_to_tensor((core, factors))


def train(cube: np.ndarray) -> np.ndarray:
    return tt_to_tensor(tensor_train(cube, rank=[1, 2, 2, 1]))


CALLS = {
    "folded": Call(folded, CUBE),
    "from_factors": Call(from_factors, FACTORS[0], FACTORS[1], np.array([0.7, 1.3])),
    "multiplied": Call(multiplied, CUBE, np.cos(np.arange(6.0)).reshape(2, 3)),
    "columns_combined": Call(columns_combined, FACTORS[0], FACTORS[1]),
    "canonical": Call(canonical, CUBE),
    "orthogonal": Call(orthogonal, CUBE),
    "train": Call(train, CUBE),
}
