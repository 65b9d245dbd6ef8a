"""NumPy programs that model the compiled functions of ``scipy.spatial`` and ``scipy.cluster``.

Distances are those between the rows of two arrays, or of one array with itself. Rotations use SciPy's Python code for
other array libraries, which implements each of the compiled functions.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
from scipy.spatial import distance

from .table import compiled, model, runs_compiled, zero

pairwise = distance._distance_pybind  # type: ignore[attr-defined]
wrapped = distance._distance_wrap  # type: ignore[attr-defined]


# Distances of vectors along the last axis


def euclidean(x: Any, y: Any, w: Any = None) -> Any:
    return np.linalg.norm((x - y) if w is None else np.sqrt(w) * (x - y), axis=-1)


def sqeuclidean(x: Any, y: Any, w: Any = None) -> Any:
    return np.sum(weighted((x - y) ** 2, w), axis=-1)


def cityblock(x: Any, y: Any, w: Any = None) -> Any:
    return np.sum(weighted(np.abs(x - y), w), axis=-1)


def chebyshev(x: Any, y: Any, w: Any = None) -> Any:
    return np.max(np.abs(x - y) if w is None else np.abs(x - y) * (np.asarray(w) > 0), axis=-1)


def canberra(x: Any, y: Any, w: Any = None) -> Any:
    size = np.abs(x) + np.abs(y)
    return np.sum(weighted(np.abs(x - y) / np.where(size == 0, 1, size), w), axis=-1)


def braycurtis(x: Any, y: Any, w: Any = None) -> Any:
    return np.sum(weighted(np.abs(x - y), w), axis=-1) / np.sum(weighted(np.abs(x + y), w), axis=-1)


def hamming(x: Any, y: Any, w: Any = None) -> Any:
    differ = 1.0 * (x != y)
    return np.mean(differ, axis=-1) if w is None else np.sum(w * differ, axis=-1) / np.sum(w)


def minkowski(x: Any, y: Any, w: Any = None, p: Any = 2.0) -> Any:
    if np.isinf(p):
        return chebyshev(x, y, w)
    total = np.sum(weighted(np.abs(x - y) ** p, w), axis=-1)
    return np.where(total == 0, 0.0, np.where(total == 0, 1.0, total) ** (1 / p))


def cosine(x: Any, y: Any) -> Any:
    return 1 - np.sum(x * y, axis=-1) / (np.linalg.norm(x, axis=-1) * np.linalg.norm(y, axis=-1))


def seuclidean(x: Any, y: Any, V: Any) -> Any:
    return np.linalg.norm((x - y) / np.sqrt(V), axis=-1)


def mahalanobis(x: Any, y: Any, VI: Any) -> Any:
    square = np.sum((x - y) * np.matmul(x - y, np.transpose(VI)), axis=-1)
    return np.where(square == 0, 0.0, np.sqrt(np.where(square == 0, 1.0, square)))


def jensenshannon(x: Any, y: Any) -> Any:
    p, q = (v / np.sum(v, axis=-1, keepdims=True) for v in (x, y))
    m = (p + q) / 2
    logs = [v * np.log(np.where(v == 0, 1.0, v / np.where(m == 0, 1.0, m))) for v in (p, q)]
    square = np.sum(logs[0] + logs[1], axis=-1) / 2
    return np.where(square > 0, np.sqrt(np.where(square > 0, square, 1.0)), 0.0)


def weighted(x: Any, w: Any) -> Any:
    return x if w is None else w * x


def rows(x: Any, y: Any) -> tuple[Any, Any]:
    return x[:, None, :], y[None, :, :]


def pairs(x: Any) -> tuple[Any, Any]:
    i, j = np.triu_indices(len(x), 1)
    return x[i], x[j]


for _name in ("euclidean", "sqeuclidean", "cityblock", "chebyshev", "canberra", "braycurtis", "hamming"):
    _distance = globals()[_name]
    model(getattr(pairwise, f"cdist_{_name}"), lambda x, y, w=None, out=None, d=_distance: d(*rows(x, y), w))
    model(getattr(pairwise, f"pdist_{_name}"), lambda x, w=None, out=None, d=_distance: d(*pairs(x), w))
model(pairwise.cdist_minkowski, lambda x, y, w=None, out=None, p=2.0: minkowski(*rows(x, y), w, p))
model(pairwise.pdist_minkowski, lambda x, w=None, out=None, p=2.0: minkowski(*pairs(x), w, p))

model(wrapped.cdist_cosine_double_wrap, lambda XA, XB, dm: cosine(*rows(XA, XB)), into=2)
model(wrapped.pdist_cosine_double_wrap, lambda X, dm: cosine(*pairs(X)), into=1)
model(wrapped.cdist_jensenshannon_double_wrap, lambda XA, XB, dm: jensenshannon(*rows(XA, XB)), into=2)
model(wrapped.pdist_jensenshannon_double_wrap, lambda X, dm: jensenshannon(*pairs(X)), into=1)
model(wrapped.cdist_seuclidean_double_wrap, lambda XA, XB, dm, V: seuclidean(*rows(XA, XB), V), into=2)
model(wrapped.pdist_seuclidean_double_wrap, lambda X, dm, V: seuclidean(*pairs(X), V), into=1)
model(wrapped.cdist_mahalanobis_double_wrap, lambda XA, XB, dm, VI: mahalanobis(*rows(XA, XB), VI), into=2)
model(wrapped.pdist_mahalanobis_double_wrap, lambda X, dm, VI: mahalanobis(*pairs(X), VI), into=1)


def square_form(M, v):
    square = np.zeros(np.shape(M))
    i, j = np.triu_indices(len(M), 1)
    square[i, j] = v
    square[j, i] = v
    return square


model(wrapped.to_squareform_from_vector_wrap, square_form, into=0)
model(wrapped.to_vector_from_squareform_wrap, lambda X, v: X[np.triu_indices(len(X), 1)], into=1)


def directed_hausdorff(u, v, seed=0):
    between = euclidean(*rows(u, v))
    nearest = np.argmin(between, axis=1)
    i = np.argmax(np.min(between, axis=1))
    return between[i, nearest[i]], i, nearest[i]


model(compiled("scipy.spatial", "_hausdorff.directed_hausdorff"), directed_hausdorff)


# Clusters

_vq = compiled("scipy.cluster", "_vq.vq", "vq._vq.vq")


def nearest_codes(obs: Any, codes: Any) -> Any:
    return _vq(obs, codes)[0]


def vq(obs, codes):
    code = nearest_codes(obs, codes)
    return code, np.linalg.norm(obs - codes[code], axis=-1) if np.ndim(obs) > 1 else np.abs(obs - codes[code])


def update_cluster_means(obs, labels, nc):
    belongs = np.equal.outer(np.arange(nc), labels).astype(float)
    count = np.sum(belongs, axis=1)
    means = np.matmul(belongs, obs) / np.reshape(np.maximum(count, 1), (-1,) + (1,) * (np.ndim(obs) - 1))
    return means, count > 0


zero(nearest_codes)
runs_compiled(nearest_codes)
model(_vq, vq)
model(compiled("scipy.cluster", "_vq.update_cluster_means", "vq._vq.update_cluster_means"), update_cluster_means)


# Rotations


def pair_by_name(fast: str, plain: str) -> None:
    """Model each function of a compiled module by the Python function of the same name."""
    try:
        left, right = (import_module(f"scipy.spatial.transform.{name}") for name in (fast, plain))
    except ImportError:  # before SciPy 1.17
        return
    for name, program in vars(right).items():
        function = getattr(left, name, None)
        if getattr(program, "__module__", None) == right.__name__ and callable(function) and not name.startswith("__"):
            model(function, program)


pair_by_name("_rotation_cy", "_rotation_xp")
pair_by_name("_rigid_transform_cy", "_rigid_transform_xp")
