"""scipy.spatial: distances, rotations, and clustering by distances."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import odr, spatial
from scipy.cluster import vq
from scipy.spatial import distance
from scipy.spatial.transform import Rotation, RotationSpline, Slerp

import morula as mo
from morula.testing import check_gradients

random = np.random.default_rng(0)
P, Q = random.normal(size=(4, 3)), random.normal(size=(5, 3))
V, W = np.array([0.3, -0.4, 0.8]), np.array([1.0, 2.0, 3.0])
QUATERNION = np.array([0.1, 0.5, -0.3, 0.8])
METRICS = """euclidean sqeuclidean cityblock chebyshev cosine correlation canberra braycurtis seuclidean mahalanobis
    minkowski hamming""".split()

CALLS = {
    **{f"cdist {m}": (lambda p, q, m=m: distance.cdist(p, q, m), P, Q) for m in METRICS},
    **{f"pdist {m}": (lambda q, m=m: distance.pdist(q, m), Q) for m in METRICS},
    "cdist jensenshannon": (lambda p, q: distance.cdist(p, q, "jensenshannon"), P**2, Q**2),
    "pdist jensenshannon": (lambda p: distance.pdist(p, "jensenshannon"), P**2),
    "cdist V=": (lambda p, q, v: distance.cdist(p, q, "seuclidean", V=v), P, Q, W),
    "cdist VI=": (lambda p, q, v: distance.cdist(p, q, "mahalanobis", VI=v), P, Q, np.eye(3) + 0.1),
    "cdist p=": (lambda p, q, s: distance.cdist(p, q, "minkowski", p=s), P, Q, 2.5),
    **{
        f"cdist {m} w=": (lambda p, q, w, m=m: distance.cdist(p, q, m, w=w), P, Q, W)
        for m in ("euclidean", "cityblock", "braycurtis", "canberra", "minkowski", "hamming")
    },
    "cdist out=": (lambda p, q: distance.cdist(p, q, out=np.zeros((4, 5))) ** 2, P, Q),
    "cdist of a function": (lambda p, q, s: distance.cdist(p, q, lambda u, v: np.sum((u - v) ** 4) * s), P, Q, 1.5),
    "squareform": (lambda p: distance.squareform(distance.pdist(p)), P),
    "squareform back": (lambda p: distance.squareform(distance.squareform(distance.pdist(p)) ** 2), P),
    **{
        f"{m} of two vectors": (lambda u, v, m=m: getattr(distance, m)(u, v), P[0], Q[0])
        for m in ("euclidean", "cosine", "correlation", "canberra", "minkowski")
    },
    "mahalanobis of two vectors": (distance.mahalanobis, P[0], Q[0], np.eye(3) + 0.1),
    "directed_hausdorff": (lambda p, q: distance.directed_hausdorff(p, q)[0], P, Q),
    "distance_matrix": (spatial.distance_matrix, P, Q),
    "procrustes": (lambda p: spatial.procrustes(p, Q[:4])[2], P),
    "geometric_slerp": (
        lambda a, t: spatial.geometric_slerp(np.array([np.cos(a), np.sin(a)]), np.array([0.0, 1.0]), t),
        0.3, np.array([0.2, 0.6]),
    ),
    "from_rotvec": (lambda r: Rotation.from_rotvec(r).as_matrix(), V),
    "from_quat": (lambda q: Rotation.from_quat(q).as_matrix(), QUATERNION),
    "from_matrix": (lambda r: Rotation.from_matrix(Rotation.from_rotvec(r).as_matrix()).as_quat(), V),
    "from_euler": (lambda a: Rotation.from_euler("xyz", a).as_matrix(), V),
    "as_euler": (lambda r: Rotation.from_rotvec(r).as_euler("ZYX"), V),
    "as_rotvec": (lambda q: Rotation.from_quat(q).as_rotvec(), QUATERNION),
    "apply": (lambda r, p: Rotation.from_rotvec(r).apply(p), V, P),
    "composed": (lambda r, s: (Rotation.from_rotvec(r) * Rotation.from_rotvec(s).inv()).as_quat(), V, P[0]),
    "to a power": (lambda r: (Rotation.from_rotvec(r) ** 0.3).as_quat(), V),
    "magnitude": (lambda r: Rotation.from_rotvec(r).magnitude(), V),
    "as_mrp": (lambda r: Rotation.from_mrp(r).as_mrp(), V / 2),
    "mean": (lambda r: Rotation.from_rotvec(r).mean().as_rotvec(), P),
    "align_vectors": (lambda a, b: Rotation.align_vectors(a, b)[0].as_rotvec(), P, Q[:4]),
    "one of several": (lambda r: Rotation.from_rotvec(r)[1].as_quat(), P),
    "Slerp": (lambda r, t: Slerp([0, 1, 2, 3], Rotation.from_rotvec(r))(t).as_rotvec(), P / 2, np.array([0.3, 1.7])),
    "RotationSpline": (
        lambda r, t: RotationSpline([0, 1, 2], Rotation.from_rotvec(r))(t).as_rotvec(), P[:3] / 5, np.array([0.3, 1.7]),
    ),
    "whiten": (vq.whiten, P),
    "vq": (lambda x, c: vq.vq(x, c)[1], P, Q),
    "kmeans2": (lambda x: vq.kmeans2(x, x[:2].copy(), minit="matrix")[0], P),
}  # fmt: skip


@pytest.mark.parametrize("name", CALLS)
def test_calls(name):
    f, *args = CALLS[name]
    check_gradients(f, *args, order=1)


@pytest.mark.parametrize("metric", ["euclidean", "seuclidean", "minkowski"])
def test_the_distance_of_a_point_from_itself_has_the_gradient_zero(metric):
    assert mo.grad(lambda p: np.trace(distance.cdist(p, p.copy(), metric, V=W)) if metric == "seuclidean" else np.trace(
        distance.cdist(p, p.copy(), metric)))(P) == pytest.approx(np.zeros((4, 3)))  # fmt: skip


def fitted(y):
    model = odr.Model(lambda b, x: b[0] * x + b[1])
    return odr.ODR(odr.Data(np.arange(5.0), y), model, [1.0, 0.0]).run().beta


@pytest.mark.parametrize(
    "f",
    [
        lambda p: spatial.KDTree(p).query(Q)[0].sum(),
        lambda p: spatial.KDTree(Q).query(p)[0].sum(),
        lambda p: spatial.ConvexHull(p).volume,
        lambda p: spatial.ConvexHull(p).equations.sum(),
        lambda p: fitted(p[:, 0]).sum(),
    ],
    ids=["KDTree", "KDTree query", "ConvexHull", "ConvexHull attribute", "ODR"],
)
def test_what_compiled_objects_keep_is_refused(f):
    with pytest.raises(mo.NoDerivative, match="has no derivative rule"):
        mo.gradient(f, random.normal(size=(5, 3)))
