"""Rules of matrix and tensor products."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from rule_tester import check_rule

from morula.core.rules import load
from morula.core.rules.table import RULES, pull

load()

random = np.random.default_rng(4)


def array(*shape: int, dtype: Any = float) -> np.ndarray:
    x = random.uniform(-2, 2, shape)
    return (x + 1j * random.uniform(-2, 2, shape) if dtype is complex else x).astype(dtype)


DTYPES = [(float, float), (complex, complex), (float, complex), (np.float32, np.float32)]


@pytest.mark.parametrize(
    ("a", "b"),
    [
        *itertools.product([(3,), (2, 3), (2, 2, 3), (1, 2, 3)], [(3,), (3, 2), (2, 3, 2), (1, 3, 2)]),
        ((3, 1, 2, 3), (2, 3, 2)),
        ((0, 3), (3, 2)),
        ((2, 0), (0, 2)),
        ((0,), (0,)),
    ],
    ids=str,
)
def test_matmul_of_every_rank_with_every_rank(a, b):
    check_rule(np.matmul, array(*a), array(*b))


@pytest.mark.parametrize("dtypes", DTYPES, ids=str)
@pytest.mark.parametrize(("a", "b"), [((3,), (3,)), ((2, 3), (3,)), ((3,), (3, 2)), ((2, 2, 3), (3, 2))], ids=str)
def test_matmul_of_every_dtype(a, b, dtypes):
    check_rule(np.matmul, array(*a, dtype=dtypes[0]), array(*b, dtype=dtypes[1]))


def test_matmul_of_nested_lists():
    check_rule(np.matmul, [[1.0, 2.0], [3.0, 4.0]], [0.5, 0.25])


def test_matmul_along_axes_of_the_callers_choice():
    check_rule(np.matmul, array(2, 3), array(3, 2), axes=[(1, 0), (1, 0), (1, 0)])


@pytest.mark.parametrize("dtypes", [(float, float), (complex, complex), (complex, float)], ids=str)
@pytest.mark.parametrize(
    ("a", "b"),
    [*itertools.product([(), (3,), (2, 3), (2, 2, 3)], [(), (3,), (3, 2), (2, 3, 2)]), ((0,), (0,)), ((2, 0), (0, 2))],
    ids=str,
)
def test_dot_of_every_rank_with_every_rank(a, b, dtypes):
    check_rule(np.dot, array(*a, dtype=dtypes[0]), array(*b, dtype=dtypes[1]), order=2 if dtypes[1] is float else 1)


@pytest.mark.parametrize("dtypes", [(float, float), (complex, complex)], ids=str)
@pytest.mark.parametrize(("a", "b"), [*itertools.product([(), (3,), (2, 3), (2, 2, 3)], [(), (3,), (2, 3)])], ids=str)
def test_inner_of_every_rank_with_every_rank(a, b, dtypes):
    check_rule(np.inner, array(*a, dtype=dtypes[0]), array(*b, dtype=dtypes[1]), order=2 if dtypes[1] is float else 1)


@pytest.mark.parametrize("dtypes", [(float, float), (complex, complex), (complex, float), (float, complex)], ids=str)
@pytest.mark.parametrize(("a", "b"), [((3,), (3,)), ((2, 3), (6,)), ((2, 3), (2, 3)), ((1,), (1,))], ids=str)
def test_vdot_and_outer_ravel_their_arguments(a, b, dtypes):
    check_rule(np.vdot, array(*a, dtype=dtypes[0]), array(*b, dtype=dtypes[1]))
    check_rule(np.outer, array(*a, dtype=dtypes[0]), array(*b, dtype=dtypes[1]))


def test_scalars_may_be_factors():
    for f in (np.dot, np.inner, np.vdot, np.outer, np.kron):
        check_rule(f, 1.5, -0.7)
        check_rule(f, 1.5 + 0.3j, -0.7 + 2j)
    for f in (np.dot, np.inner, np.outer, np.kron):
        check_rule(f, 1.5, array(2, 2))


@pytest.mark.parametrize(
    ("a", "b", "axes"),
    [
        ((2, 3, 4), (3, 4, 2), 2),
        ((2, 3), (2, 2), 0),
        ((2, 3), (3, 2), 1),
        ((2, 3, 4), (4, 3, 2), ([0, 1], [2, 1])),
        ((2, 3, 4), (4, 3, 2), ((-1, 0), (0, -1))),
        ((2, 3, 4), (5, 3), (1, 1)),
        ((2, 3), (2, 3), ([1, 0], [1, 0])),
        ((2, 3), (4,), ([], [])),
        ((2, 0), (0, 3), 1),
    ],
    ids=str,
)
@pytest.mark.parametrize("dtype", [float, complex], ids=str)
def test_tensordot(a, b, axes, dtype):
    check_rule(
        np.tensordot, array(*a, dtype=dtype), array(*b, dtype=dtype), axes=axes, order=2 if dtype is float else 1
    )


@pytest.mark.parametrize(("a", "b"), [((2,), (3,)), ((2, 2), (1, 3)), ((2,), (2, 3)), ((2, 1, 2), (2, 2))], ids=str)
def test_kron(a, b):
    check_rule(np.kron, array(*a), array(*b))
    check_rule(np.kron, array(*a, dtype=complex), array(*b), order=1)


@pytest.mark.parametrize(("a", "b"), [((3,), (3,)), ((2, 3), (3,)), ((2, 1, 3), (2, 3)), ((0, 3), (3,))], ids=str)
def test_cross(a, b):
    check_rule(np.cross, array(*a), array(*b))
    check_rule(np.cross, array(*a, dtype=complex), array(*b, dtype=complex), order=1)
    check_rule(np.linalg.cross, array(*a), array(*b))


def test_cross_along_other_axes():
    check_rule(np.cross, array(3, 2), array(2, 3), axisa=0, axisb=-1, axisc=0)
    check_rule(np.cross, array(3, 2), array(3, 2), axis=0)
    check_rule(np.linalg.cross, array(3, 2), array(3, 2), axis=0)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize(("a", "b"), [((2,), (2,)), ((4, 2), (2,)), ((3,), (2,)), ((4, 2), (4, 3))], ids=str)
def test_cross_of_vectors_of_the_plane(a, b):
    try:
        np.cross(np.zeros(a), np.zeros(b))
    except ValueError:
        pytest.skip("this NumPy has cross products in space only")
    check_rule(np.cross, array(*a), array(*b))


@pytest.mark.parametrize(("a", "b"), [((3,), (3,)), ((2, 3), (3,)), ((2, 1, 3), (2, 3))], ids=str)
@pytest.mark.parametrize("dtype", [float, complex], ids=str)
def test_vecdot(a, b, dtype):
    check_rule(np.vecdot, array(*a, dtype=dtype), array(*b, dtype=dtype))
    check_rule(np.linalg.vecdot, array(*a, dtype=dtype), array(*b, dtype=dtype))


def test_vecdot_along_another_axis():
    check_rule(np.vecdot, array(3, 2), array(3, 2), axis=0)


@pytest.mark.skipif(not hasattr(np, "matvec"), reason="NumPy 2.2 has matvec and vecmat")
@pytest.mark.parametrize("dtype", [float, complex], ids=str)
def test_matvec_and_vecmat(dtype):
    check_rule(np.matvec, array(2, 3, dtype=dtype), array(3, dtype=dtype))
    check_rule(np.matvec, array(2, 3, dtype=dtype), array(2, 3, dtype=dtype))
    check_rule(np.vecmat, array(2, dtype=dtype), array(2, 3, dtype=dtype))
    check_rule(np.vecmat, array(3, 2, dtype=dtype), array(2, 3, dtype=dtype))


@pytest.mark.parametrize(
    ("subscripts", "shapes"),
    [
        ("ij,jk->ik", [(2, 3), (3, 2)]),
        ("ij,jk", [(2, 3), (3, 2)]),
        ("ij->ji", [(2, 3)]),
        ("ji", [(2, 3)]),
        ("ij->", [(2, 3)]),
        ("ij->i", [(2, 3)]),
        ("i->", [(0,)]),
        ("ii->i", [(3, 3)]),
        ("ii", [(3, 3)]),
        ("iij->j", [(2, 2, 3)]),
        ("iji->ij", [(2, 3, 2)]),
        ("ii,i->i", [(3, 3), (3,)]),
        ("ii,jj->ij", [(2, 2), (3, 3)]),
        ("i,i", [(3,), (3,)]),
        ("i,j->ij", [(2,), (3,)]),
        ("i,j->i", [(2,), (3,)]),
        (",ij->ij", [(), (2, 3)]),
        (",", [(), ()]),
        ("...", [(2, 3)]),
        ("...i->...", [(2, 3)]),
        ("i...->...", [(2, 3)]),
        ("...ij,...jk->...ik", [(4, 2, 3), (4, 3, 2)]),
        ("...ij,...jk", [(4, 2, 3), (3, 2)]),
        ("...ij,jk->ik...", [(4, 2, 3), (3, 2)]),
        ("...,...->...", [(3, 1), (2,)]),
        ("b...,b...->...b", [(2, 3, 1), (2, 4)]),
        ("ij,ij->ij", [(1, 3), (2, 1)]),
        ("ij,ij->", [(1, 3), (2, 3)]),
        ("ij,jk,kl->il", [(2, 3), (3, 2), (2, 2)]),
        ("ij,jk,kl,lm", [(2, 2), (2, 2), (2, 2), (2, 2)]),
        ("i,i,i->", [(3,), (3,), (3,)]),
        ("bi, ij -> bj", [(2, 3), (3, 2)]),
        ("ea,fb,abcd,gc,hd->efgh", [(2, 2)] * 2 + [(2, 2, 2, 2)] + [(2, 2)] * 2),
    ],
)
def test_einsum(subscripts, shapes):
    check_rule(np.einsum, subscripts, *(array(*s) for s in shapes), order=2 if len(shapes) < 4 else 1)
    check_rule(np.einsum, subscripts, *(array(*s, dtype=complex) for s in shapes), order=0)


def test_einsum_with_an_optimised_order():
    check_rule(np.einsum, "ij,jk,kl->il", array(2, 3), array(3, 2), array(2, 2), optimize=True)
    check_rule(np.einsum, "ij,jk,kl->il", array(2, 3), array(3, 2), array(2, 2), optimize="greedy", order=1)


def test_einsum_in_single_precision():
    check_rule(np.einsum, "ij,jk->ik", array(2, 3, dtype=np.float32), array(3, 2, dtype=np.float32), order=1)


@pytest.mark.parametrize(
    ("lists", "shapes"),
    [
        ([[0, 1], [1, 2], [0, 2]], [(2, 3), (3, 2)]),
        ([[0, 1], [1, 2]], [(2, 3), (3, 2)]),
        ([[0, 0]], [(3, 3)]),
        ([[0, 0], [0]], [(3, 3)]),
        ([[..., 3], [..., 3], [...]], [(2, 3), (3,)]),
        ([[7, 2], [2, 7]], [(2, 3)]),
    ],
    ids=str,
)
def test_einsum_with_lists_of_indices(lists, shapes):
    operands: list[Any] = []
    for shape, indices in zip(shapes, lists):
        operands += [array(*shape), indices]
    operands += lists[len(shapes) :]
    check_rule(np.einsum, *operands, known=tuple(range(0, 2 * len(shapes), 2)))


def test_products_of_large_batches_with_one_matrix_are_summed_as_one_product():
    """The cotangent of the matrix never takes the memory of one matrix for each sample."""
    a, w = array(50, 4, 3), array(3, 2)
    y = a @ w
    _, gw = pull(RULES[np.matmul], y, y, (a, w), {})
    np.testing.assert_allclose(gw, a.reshape(-1, 3).T @ y.reshape(-1, 2))
