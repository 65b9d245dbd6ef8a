"""Find cameras and points in space from pictures: bundle adjustment with a sparse Jacobian.

Eight cameras on an arc look at 400 points; generated pictures hold the places of the points with an error of half a pixel. Turned and moved
cameras and displaced points are the start; Levenberg-Marquardt steps minimise the reprojection errors. A picture of a point depends on one
camera and one point, so a row of the Jacobian has at most nine entries of 1,241. A few products compute them all, and each step
eliminates the points first. The pictures determine the scene but for a motion and a scale: these are fixed by the first camera and one coordinate of the second.

Geometry: R. Hartley, A. Zisserman, Multiple View Geometry, 2nd ed. (2004), sections 6.1 and 18.1; B. Triggs et al., Bundle adjustment: a modern
synthesis, Vision Algorithms (2000) 298-372; rotations by O. Rodrigues' formula.

    python examples/bundle_adjustment.py [picture.png]
"""

from __future__ import annotations

import sys

import numpy as np

from morula.optim import least_squares

CAMERAS, POINTS, NOISE = 8, 400, 0.5
FOCAL = 800.0
"""The focal length in pixels; the noise is in pixels, too."""
FIXED = 7
"""The numbers of the first camera, and the first of the second camera's shift, which are known."""


def rotated(w, X):
    """Turn X (n, 3) by the rotation vectors w (n, 3), none of them zero."""
    angle = np.sqrt(np.sum(w * w, axis=1))[:, None]
    k = w / angle
    across = np.stack(
        [
            k[:, 1] * X[:, 2] - k[:, 2] * X[:, 1],
            k[:, 2] * X[:, 0] - k[:, 0] * X[:, 2],
            k[:, 0] * X[:, 1] - k[:, 1] * X[:, 0],
        ],
        axis=1,
    )
    along = np.sum(k * X, axis=1)[:, None] * k
    return X * np.cos(angle) + across * np.sin(angle) + along * (1 - np.cos(angle))


def projected(cameras, points):
    """Return the pictures (CAMERAS * POINTS, 2) in pixels; a camera is its shift and its rotation vector, (6,)."""
    camera, point = np.repeat(np.arange(CAMERAS), POINTS), np.tile(np.arange(POINTS), CAMERAS)
    seen = rotated(cameras[camera][:, 3:], points[point]) + cameras[camera][:, :3]
    return FOCAL * seen[:, :2] / seen[:, 2:]


def scene():
    """Return cameras (8, 6) on an arc of radius 6 that look at the origin, and points (400, 3) on two walls of a house."""
    rng = np.random.default_rng(4)
    turns = np.linspace(-0.6, 0.7, CAMERAS)
    cameras = np.stack([np.array([0.0, 0.0, 6.0, 0.02 * np.sin(5 * a), a, 0.01]) for a in turns])
    cameras[:, :3] += 0.3 * rng.normal(size=(CAMERAS, 3))
    along, height = rng.uniform(0.0, 1.6, POINTS), rng.uniform(-1.0, 1.0, POINTS)
    side = np.arange(POINTS) % 2
    points = np.stack([np.where(side, along, -along), height, 0.8 - 0.9 * along], axis=1)
    return cameras, points + 0.03 * rng.normal(size=points.shape)


def joined(cameras, points):
    """Return the unknowns, (1241,)."""
    return np.concatenate([cameras.reshape(-1)[FIXED:], points.reshape(-1)])


def parted(x, known):
    """Return the cameras and the points."""
    size = 6 * CAMERAS - FIXED
    return np.concatenate([known, x[:size]]).reshape(CAMERAS, 6), x[size:].reshape(POINTS, 3)


def misfits(x, known, pictures):
    return (projected(*parted(x, known)) - pictures).reshape(-1)


def adjusted(start, known, pictures):
    return least_squares(misfits, start, known, pictures, jacobian="sparse")


def disturbed(cameras, points):
    rng = np.random.default_rng(5)
    return joined(cameras + 0.05 * rng.normal(size=cameras.shape), points + 0.2 * rng.normal(size=points.shape))


def size_of(errors):
    """Return the root mean square distance in a picture, in pixels."""
    return float(np.sqrt(np.mean(np.sum(errors.reshape(-1, 2) ** 2, axis=1))))


def solved():
    """Return the true scene, the start, what is known, the pictures and the fit."""
    cameras, points = scene()
    known = cameras.reshape(-1)[:FIXED]
    pictures = projected(cameras, points) + NOISE * np.random.default_rng(6).normal(size=(CAMERAS * POINTS, 2))
    start = disturbed(cameras, points)
    return cameras, points, start, known, pictures, adjusted(start, known, pictures)


def main(picture: str | None = None) -> None:
    cameras, points, start, known, pictures, fit = solved()
    J = fit.jacobian
    print(
        f"{len(fit.x)} unknowns, {J.shape[0]} residuals; {J.nnz} entries of the Jacobian, {100 * J.nnz / np.prod(J.shape):.1f} %"
    )
    print(
        f"reprojection error {size_of(misfits(start, known, pictures)):.1f} -> {size_of(fit.residual):.3f} pixels",
        end=" ",
    )
    print(f"after {fit.iterations} steps; noise {fit.residual_standard_deviation:.3f} pixels (true {NOISE})")
    found = parted(fit.x, known)[1]
    print(f"root mean square error of a point {np.sqrt(np.mean(np.sum((found - points) ** 2, axis=1))):.4f}")
    if picture is not None:
        import matplotlib.pyplot as plt

        figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.5), layout="constrained")
        first = parted(start, known)[1]
        left.plot(first[:, 0], first[:, 2], "x", color="0.7", label="start")
        left.plot(points[:, 0], points[:, 2], "ko", fillstyle="none", label="true")
        left.plot(found[:, 0], found[:, 2], "C0.", label="found")
        left.set(xlabel="x", ylabel="z", title="the walls from above", aspect="equal")
        left.legend(fontsize=8)
        right.spy(J, markersize=1)
        right.set(title="entries of the Jacobian: cameras, points", aspect="auto", xlabel="unknown", ylabel="residual")
        figure.savefig(picture, dpi=120)


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else None)
