"""Products of vectors, matrices and tensors: each pullback is a product again, with the other factors conjugated.

C = A B      dA = dC Bᴴ     dB = Aᴴ dC
einsum       the cotangent takes the operand's place, and the operand's indices become the result's
"""

from __future__ import annotations

import operator
from string import ascii_letters
from typing import Any

import numpy as np

from .reductions import conjugate
from .table import for_ranks, joint, linear, vjp, zero
from .transposes import scatter, unbroadcast, widen


def hermitian(x: Any) -> Any:
    """The conjugate transpose of a stack of matrices."""
    return np.swapaxes(conjugate(np.asanyarray(x)), -1, -2)


# matmul: vectors, matrices, and stacks of them that broadcast


def matmul_left(dy, y, a, b, **kwargs):
    if kwargs.get("axes") is not None:
        return on_usual_axes(matmul_left, dy, a, b, kwargs["axes"], 0)
    rows, columns = np.ndim(a), np.ndim(b)
    if columns == 1:
        return dy * conjugate(b) if rows == 1 else unbroadcast(np.expand_dims(dy, -1) * conjugate(b), np.shape(a))
    if rows == 1 and columns == 2:
        return np.matmul(conjugate(b), dy)
    if rows == 1:
        return unbroadcast(np.matmul(conjugate(b), np.expand_dims(dy, -1))[..., 0], np.shape(a))
    if rows == 2 and columns > 2:
        summed = [*range(columns - 2), columns - 1]
        return np.tensordot(dy, conjugate(b), axes=(summed, summed))
    return unbroadcast(np.matmul(dy, hermitian(b)), np.shape(a))


def matmul_right(dy, y, a, b, **kwargs):
    if kwargs.get("axes") is not None:
        return on_usual_axes(matmul_right, dy, a, b, kwargs["axes"], 1)
    rows, columns = np.ndim(a), np.ndim(b)
    if rows == 1:
        if columns == 1:
            return conjugate(a) * dy
        if columns == 2:
            return np.reshape(conjugate(a), (-1, 1)) * dy
        return unbroadcast(np.expand_dims(conjugate(a), -1) * np.expand_dims(dy, -2), np.shape(b))
    if rows == 2 and columns == 1:
        return np.matmul(dy, conjugate(a))
    if rows == 2 and columns == 2:
        return np.matmul(hermitian(a), dy)
    if columns <= 2:
        summed = list(range(rows - 1))
        return np.tensordot(conjugate(a), dy, axes=(summed, summed))
    return unbroadcast(np.matmul(hermitian(a), dy), np.shape(b))


def on_usual_axes(pullback: Any, dy: Any, a: Any, b: Any, axes: Any, operand: int) -> Any:
    """The cotangent of an operand of a call with ``axes``, which place the vectors and matrices in each array."""
    places = [(place,) if np.ndim(place) == 0 else tuple(place) for place in axes]
    arrays = [np.moveaxis(x, place, last(place)) for x, place in zip((a, b), places)]
    if len(places) > 2:
        dy = np.moveaxis(dy, places[2], last(places[2]))
    g = unbroadcast(pullback(dy, None, *arrays), np.shape(arrays[operand]))
    return np.moveaxis(g, last(places[operand]), places[operand])


def last(place: tuple[int, ...]) -> tuple[int, ...]:
    """As many axes, at the end."""
    return tuple(range(-len(place), 0))


vjp((operator.matmul, np.matmul, np.linalg.matmul), matmul_left, matmul_right)

OF_RANKS: Any = {
    (2, 2): (lambda dy, y, a, b: dy @ b.T, lambda dy, y, a, b: a.T @ dy),
    (2, 1): (lambda dy, y, a, b: dy.reshape(-1, 1) * b, lambda dy, y, a, b: dy @ a),
    (1, 2): (lambda dy, y, a, b: b @ dy, lambda dy, y, a, b: a.reshape(-1, 1) * dy),
    (1, 1): (lambda dy, y, a, b: dy * b, lambda dy, y, a, b: dy * a),
}
for_ranks((operator.matmul, np.matmul), OF_RANKS)


# dot, vdot, inner, outer, tensordot, kron


def dot_left(dy, y, a, b, out=None):
    if np.ndim(a) == 0 or np.ndim(b) == 0:
        return unbroadcast(dy * conjugate(b), np.shape(a))
    return tensordot_left(dy, y, a, b, _axes_of_dot(a, b)) if _is_large(a, b) else matmul_left(dy, y, a, b)


def dot_right(dy, y, a, b, out=None):
    if np.ndim(a) == 0 or np.ndim(b) == 0:
        return unbroadcast(dy * conjugate(a), np.shape(b))
    return tensordot_right(dy, y, a, b, _axes_of_dot(a, b)) if _is_large(a, b) else matmul_right(dy, y, a, b)


def _is_large(a, b):
    """Whether ``np.dot`` differs from a product of matrices or vectors."""
    return np.ndim(a) > 2 or np.ndim(b) > 2


def _axes_of_dot(a, b):
    return [np.ndim(a) - 1], [max(np.ndim(b) - 2, 0)]


vjp(np.dot, dot_left, dot_right)
for_ranks(np.dot, OF_RANKS)


def inner_left(dy, y, a, b):
    rows, columns = np.ndim(a), np.ndim(b)
    if rows == 0 or columns == 0:
        return unbroadcast(dy * conjugate(b), np.shape(a))
    return tensordot_left(dy, y, a, b, ([rows - 1], [columns - 1]))


def inner_right(dy, y, a, b):
    rows, columns = np.ndim(a), np.ndim(b)
    if rows == 0 or columns == 0:
        return unbroadcast(dy * conjugate(a), np.shape(b))
    return tensordot_right(dy, y, a, b, ([rows - 1], [columns - 1]))


vjp(np.inner, inner_left, inner_right)

# vdot conjugates its first argument: dL = Re(conj(dy) conj(da) b), so the cotangent of a is conj(dy) b.
vjp(
    np.vdot,
    lambda dy, y, a, b: np.reshape(conjugate(dy) * np.ravel(b), np.shape(a)),
    lambda dy, y, a, b: np.reshape(dy * np.ravel(a), np.shape(b)),
)

vjp(
    (np.outer, np.linalg.outer),
    lambda dy, y, a, b, out=None: np.reshape(np.matmul(dy, conjugate(np.ravel(b))), np.shape(a)),
    lambda dy, y, a, b, out=None: np.reshape(np.matmul(conjugate(np.ravel(a)), dy), np.shape(b)),
)


def contracted_axes(a: Any, b: Any, axes: Any) -> tuple[list[int], list[int]]:
    """The axes that ``tensordot(a, b, axes)`` contracts, paired, none negative."""
    rows, columns = np.ndim(a), np.ndim(b)
    if isinstance(axes, (int, np.integer)):
        return list(range(rows - axes, rows)), list(range(axes))
    of_a, of_b = axes
    return [int(i) % rows for i in np.ravel(of_a)], [int(i) % columns for i in np.ravel(of_b)]


# The axes of each product: the free ones, then the contracted ones in the order of the other factor.


def tensordot_left(dy, y, a, b, axes=2):
    of_a, of_b = contracted_axes(a, b, axes)
    free_a = [i for i in range(np.ndim(a)) if i not in of_a]
    free_b = [i for i in range(np.ndim(b)) if i not in of_b]
    g = np.tensordot(dy, conjugate(b), axes=(list(range(len(free_a), np.ndim(dy))), free_b))
    return np.transpose(g, inverse(free_a + [of_a[of_b.index(i)] for i in sorted(of_b)]))


def tensordot_right(dy, y, a, b, axes=2):
    of_a, of_b = contracted_axes(a, b, axes)
    free_a = [i for i in range(np.ndim(a)) if i not in of_a]
    free_b = [i for i in range(np.ndim(b)) if i not in of_b]
    g = np.tensordot(conjugate(a), dy, axes=(free_a, list(range(len(free_a)))))
    return np.transpose(g, inverse([of_b[of_a.index(i)] for i in sorted(of_a)] + free_b))


def inverse(permutation: list[int]) -> list[int]:
    return [permutation.index(i) for i in range(len(permutation))]


vjp(np.tensordot, tensordot_left, tensordot_right)
vjp(
    np.linalg.tensordot,
    lambda dy, y, x1, x2, *, axes=2: tensordot_left(dy, y, x1, x2, axes),
    lambda dy, y, x1, x2, *, axes=2: tensordot_right(dy, y, x1, x2, axes),
)


def paired(dy: Any, a: Any, b: Any) -> tuple[Any, tuple[int, ...], tuple[int, ...]]:
    """``kron``'s axis i as the pair (axis i of a, axis i of b), the shorter shape filled with ones in front."""
    rank = max(np.ndim(a), np.ndim(b))
    of_a = (1,) * (rank - np.ndim(a)) + np.shape(a)
    of_b = (1,) * (rank - np.ndim(b)) + np.shape(b)
    return np.reshape(dy, tuple(n for pair in zip(of_a, of_b) for n in pair)), of_a, of_b


def kron_left(dy, y, a, b):
    pairs, of_a, of_b = paired(dy, a, b)
    rank = len(of_a)
    g = np.tensordot(pairs, np.reshape(conjugate(b), of_b), axes=(list(range(1, 2 * rank, 2)), list(range(rank))))
    return np.reshape(g, np.shape(a))


def kron_right(dy, y, a, b):
    pairs, of_a, of_b = paired(dy, a, b)
    rank = len(of_a)
    g = np.tensordot(pairs, np.reshape(conjugate(a), of_a), axes=(list(range(0, 2 * rank, 2)), list(range(rank))))
    return np.reshape(g, np.shape(b))


vjp(np.kron, kron_left, kron_right)


# cross: the cotangents are b x dy and dy x a in three dimensions; vectors of two are embedded


def cross_left(dy, y, a, b, axisa=-1, axisb=-1, axisc=-1, axis=None):
    if axis is not None:
        axisa = axisb = axisc = axis
    a, b = np.moveaxis(np.asarray(a), axisa, -1), np.moveaxis(np.asarray(b), axisb, -1)
    g = np.cross(in_space(conjugate(b)), normal_or_vector(dy, a, b, axisc))
    return np.moveaxis(unbroadcast(g[..., : a.shape[-1]], a.shape), -1, axisa)


def cross_right(dy, y, a, b, axisa=-1, axisb=-1, axisc=-1, axis=None):
    if axis is not None:
        axisa = axisb = axisc = axis
    a, b = np.moveaxis(np.asarray(a), axisa, -1), np.moveaxis(np.asarray(b), axisb, -1)
    g = np.cross(normal_or_vector(dy, a, b, axisc), in_space(conjugate(a)))
    return np.moveaxis(unbroadcast(g[..., : b.shape[-1]], b.shape), -1, axisb)


def in_space(x: Any) -> Any:
    """Embed vectors of two dimensions in three."""
    return x if x.shape[-1] == 3 else np.concatenate((x, np.zeros_like(x[..., :1])), axis=-1)


def normal_or_vector(dy: Any, a: Any, b: Any, axis: int) -> Any:
    """The cotangent of ``cross`` as vectors in space; for two plane vectors it is a number, along the normal."""
    if a.shape[-1] == 3 or b.shape[-1] == 3:
        return np.moveaxis(dy, axis, -1)
    z = np.expand_dims(dy, -1)
    return np.concatenate((np.zeros_like(z), np.zeros_like(z), z), axis=-1)


vjp(np.cross, cross_left, cross_right)
vjp(
    np.linalg.cross,
    lambda dy, y, x1, x2, *, axis=-1: cross_left(dy, y, x1, x2, axis=axis),
    lambda dy, y, x1, x2, *, axis=-1: cross_right(dy, y, x1, x2, axis=axis),
)


# vecdot, matvec, vecmat; vecdot and vecmat conjugate their first argument


def vecdot_left(dy, y, x1, x2, *, axis=-1, keepdims=False, **kwargs):
    if keepdims:
        dy, kwargs = without_vectors(dy, axis, kwargs)
    if kwargs.get("axes") is not None:
        return on_usual_axes(vecdot_left, dy, x1, x2, kwargs["axes"], 0)
    g = conjugate(np.expand_dims(dy, -1)) * np.moveaxis(np.asarray(x2), axis, -1)
    return along_axis(g, x1, axis)


def vecdot_right(dy, y, x1, x2, *, axis=-1, keepdims=False, **kwargs):
    if keepdims:
        dy, kwargs = without_vectors(dy, axis, kwargs)
    if kwargs.get("axes") is not None:
        return on_usual_axes(vecdot_right, dy, x1, x2, kwargs["axes"], 1)
    g = np.expand_dims(dy, -1) * np.moveaxis(np.asarray(x1), axis, -1)
    return along_axis(g, x2, axis)


def without_vectors(dy: Any, axis: int, kwargs: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """Remove the axis that ``keepdims`` kept from ``dy``."""
    axes = kwargs.get("axes")
    if axes is None:
        return np.squeeze(dy, axis), kwargs
    place = axes[2] if len(axes) > 2 else axes[0]
    return np.squeeze(dy, place), {**kwargs, "axes": axes[:2]}


def along_axis(g: Any, x: Any, axis: int) -> Any:
    """``g``, whose vectors lie along the last axis, in the shape of ``x``, whose vectors lie along ``axis``."""
    shape = list(np.shape(x))
    shape.append(shape.pop(axis))
    return np.moveaxis(unbroadcast(g, tuple(shape)), -1, axis)


vjp((np.vecdot, np.linalg.vecdot), vecdot_left, vecdot_right)


def matvec_left(dy, y, x1, x2, **kwargs):
    if kwargs.get("axes") is not None:
        return on_usual_axes(matvec_left, dy, x1, x2, kwargs["axes"], 0)
    return unbroadcast(np.expand_dims(dy, -1) * np.expand_dims(conjugate(x2), -2), np.shape(x1))


def matvec_right(dy, y, x1, x2, **kwargs):
    if kwargs.get("axes") is not None:
        return on_usual_axes(matvec_right, dy, x1, x2, kwargs["axes"], 1)
    return unbroadcast(np.matmul(hermitian(x1), np.expand_dims(dy, -1))[..., 0], np.shape(x2))


def vecmat_left(dy, y, x1, x2, **kwargs):
    if kwargs.get("axes") is not None:
        return on_usual_axes(vecmat_left, dy, x1, x2, kwargs["axes"], 0)
    return unbroadcast(np.matmul(x2, np.expand_dims(conjugate(dy), -1))[..., 0], np.shape(x1))


def vecmat_right(dy, y, x1, x2, **kwargs):
    if kwargs.get("axes") is not None:
        return on_usual_axes(vecmat_right, dy, x1, x2, kwargs["axes"], 1)
    return unbroadcast(np.expand_dims(x1, -1) * np.expand_dims(dy, -2), np.shape(x2))


if hasattr(np, "matvec"):  # NumPy 2.2
    vjp(np.matvec, matvec_left, matvec_right)
    vjp(np.vecmat, vecmat_left, vecmat_right)


# einsum


def einsum_pullback(dy, y, *operands, out=None, optimize=False, **kwargs):
    if isinstance(operands[0], str):
        arrays = operands[1:]
        indices, result = parse(operands[0], [np.ndim(x) for x in arrays])
        return None, *einsum_cotangents(dy, arrays, indices, result, optimize)
    arrays = operands[0 : len(operands) // 2 * 2 : 2]
    indices, result = parse_lists(operands, [np.ndim(x) for x in arrays])
    found = einsum_cotangents(dy, arrays, indices, result, optimize)
    return tuple(g for pair in zip(found, [None] * len(found)) for g in pair)


joint(np.einsum, einsum_pullback)


def einsum_cotangents(dy: Any, arrays: Any, indices: list[str], result: str, optimize: Any) -> list[Any]:
    """The cotangent of each array, given the one-letter indices of the arrays and of the result."""
    found = []
    for k, x in enumerate(arrays):
        others = [(conjugate(a), s) for j, (a, s) in enumerate(zip(arrays, indices)) if j != k]
        found.append(einsum_cotangent(dy, result, others, np.shape(x), indices[k], optimize))
    return found


def einsum_cotangent(
    dy: Any, result: str, others: list[tuple[Any, str]], shape: tuple[int, ...], own: str, optimize: Any
) -> Any:
    different = "".join(dict.fromkeys(own))
    elsewhere = result + "".join(s for _, s in others)
    shared = "".join(i for i in different if i in elsewhere)
    subscripts = ",".join([result, *(s for _, s in others)]) + "->" + shared
    if not optimize and len(others) > 1:
        optimize = True
    g = np.einsum(subscripts, dy, *(a for a, _ in others), optimize=optimize)
    if shared == own and np.shape(g) == shape:
        return g
    # An index that only this operand has was summed: repeat along it.  One of length 1 was broadcast: sum over it.
    length = dict(zip(own, shape))
    g = unbroadcast(g, tuple(length[i] if length[i] == 1 else n for i, n in zip(shared, np.shape(g))))
    g = np.reshape(g, tuple(np.shape(g)[shared.index(i)] if i in shared else 1 for i in different))
    g = widen(g, tuple(length[i] for i in different))
    if different == own:
        return g
    # An index that occurs twice reads a diagonal.
    rank = len(different)
    places = [
        np.reshape(np.arange(length[i]), tuple(length[i] if j == i else 1 for j in different)) if rank else 0
        for i in own
    ]
    return scatter(g, tuple(places), shape, True)


def parse(subscripts: str, ranks: list[int]) -> tuple[list[str], str]:
    """The indices of every operand and of the result, with an ellipsis spelled out in letters not otherwise used."""
    subscripts = subscripts.replace(" ", "")
    inputs, arrow, result = subscripts.partition("->")
    terms = inputs.split(",")
    free = [letter for letter in ascii_letters if letter not in subscripts]
    widths = [rank - len(term.replace("...", "")) for term, rank in zip(terms, ranks)]
    widest = max((w for w, term in zip(widths, terms) if "..." in term), default=0)
    ellipsis = "".join(free[:widest])
    indices = [term.replace("...", ellipsis[widest - w :]) for w, term in zip(widths, terms)]
    if arrow:
        return indices, result.replace("...", ellipsis)
    letters = "".join(indices)
    single = sorted(i for i in set(letters) if i not in ellipsis and letters.count(i) == 1)
    return indices, ellipsis + "".join(single)


def parse_lists(operands: Any, ranks: list[int]) -> tuple[list[str], str]:
    """``parse`` for the form ``einsum(a, [0, 1], b, [1, 2], [0, 2])``."""
    lists = list(operands[1::2]) + ([operands[-1]] if len(operands) % 2 else [])
    labels = sorted({i for term in lists for i in term if i is not Ellipsis})
    letter = dict(zip(labels, ascii_letters))
    terms = ["".join("..." if i is Ellipsis else letter[i] for i in term) for term in lists]
    if len(operands) % 2:
        return parse(",".join(terms[:-1]) + "->" + terms[-1], ranks)
    return parse(",".join(terms), ranks)


zero(np.einsum_path)


linear((operator.matmul, np.matmul, np.linalg.matmul, np.dot, np.inner, np.vdot, np.outer, np.linalg.outer), 0, 1)
linear((np.tensordot, np.linalg.tensordot, np.kron, np.cross, np.linalg.cross, np.vecdot, np.linalg.vecdot), 0, 1)
linear(np.einsum, *range(1, 9))
