"""Tensor decompositions against those of TensorLy: both find the same tensors."""

from __future__ import annotations

import numpy as np
import tensorly
from tensorly.decomposition import parafac, tensor_train, tucker

from morula import linalg

RNG = np.random.default_rng(1)
X = RNG.normal(size=(3, 4, 5))
NEAR_RANK_2 = np.einsum("ir,jr,kr->ijk", *(RNG.normal(size=(n, 2)) for n in X.shape)) + 0.05 * X


def test_tensor_trains():
    train = tensor_train(X, rank=[1, 2, 3, 1])
    np.testing.assert_allclose(linalg.tensor_train(X, (2, 3)).to_array(), tensorly.tt_to_tensor(train), atol=1e-12)


def test_tucker_decompositions():
    core, factors = tucker(X, rank=[2, 2, 2], n_iter_max=200, tol=1e-14)
    ours = linalg.tucker(X, 2, iterations=200).to_array()
    np.testing.assert_allclose(ours, tensorly.tucker_to_tensor((core, factors)), atol=1e-5)


def test_canonical_decompositions():
    terms = parafac(NEAR_RANK_2, rank=2, n_iter_max=2000, tol=1e-15, init="svd")
    np.testing.assert_allclose(linalg.cp(NEAR_RANK_2, 2).to_array(), tensorly.cp_to_tensor(terms), atol=1e-5)
