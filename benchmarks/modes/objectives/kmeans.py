"""The cost of k-means clustering: Newton's direction, of the gradient and the diagonal Hessian.

Source: GradBench, eval "kmeans"; L. Bottou and Y. Bengio, Convergence properties of the k-means algorithms, NIPS 1994.
"""

from __future__ import annotations

import math

import numpy as np

import morula as mo

from ..program import Derivative


def cost(points, centroids):
    total = 0.0
    for i in range(len(points)):
        closest = math.inf
        for j in range(len(centroids)):
            distance = 0.0
            for k in range(points.shape[1]):
                distance += (points[i, k] - centroids[j, k]) ** 2
            closest = min(closest, distance)
        total += closest
    return total


def direction(points, centroids):
    """The Hessian is diagonal, so that its product with a vector of ones is its diagonal: forward over reverse mode."""
    slope, curvature = mo.jvp(lambda c: mo.grad(cost, 1)(points, c), (centroids,), (np.ones_like(centroids),))
    return slope / curvature


def _inputs(size):
    n, k, d = size
    points = np.random.default_rng(31337).uniform(size=(n, d))
    return points, points[-k:].copy()  # no cluster is empty


PROGRAMS = (Derivative("kmeans", direction, _inputs, (2000, 10, 8), (11, 3, 2)),)
