"""Recover a picture from 35 of 100 pixels: a gradient through a truncated singular value decomposition.

The picture is a slice of a head by magnetic resonance, which matplotlib ships. Its singular values fall fast. The missing pixels are
the variables; the loss is the energy of the picture outside of its best approximation of rank k, |X|^2 - sum of s_i^2, with k
growing from coarse to fine, and a penalty on differences of neighbours. The gradient of the spectral part is that of
``svds``: one call of the solver for value and gradient, and no decomposition of the whole matrix.

    python examples/low_rank_image_recovery.py
"""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import numpy as np

import morula as mo
from morula.linalg import svds

KNOWN = 0.35
RANKS = (2, 6, 12)
SMOOTHNESS = 0.01


def slice_of_a_head() -> Any:
    """The picture, (128, 128), with values from 0 to 1: the mean of 2 x 2 pixels."""
    import matplotlib

    path = Path(matplotlib.get_data_path()) / "sample_data" / "s1045.ima.gz"
    with gzip.open(path) as file:
        pixels = np.frombuffer(file.read(), np.uint16).reshape(256, 256).astype(float)
    return pixels.reshape(128, 2, 128, 2).mean(axis=(1, 3)) / pixels.max()


def filled(missing: Any, picture: Any, is_known: Any) -> Any:
    """The picture with ``missing`` in the unknown places."""
    found = np.where(is_known, picture, 0.0)
    found[~is_known] = missing
    return found


def loss(missing: Any, picture: Any, is_known: Any, rank: int) -> Any:
    X = filled(missing, picture, is_known)
    outside = np.sum(X**2) - np.sum(svds(X, rank, vectors=False, rtol=1e-8).values ** 2)
    rough = np.sum(np.diff(X, axis=0) ** 2) + np.sum(np.diff(X, axis=1) ** 2)
    return outside + SMOOTHNESS * rough


def recover(picture: Any, is_known: Any, iterations: int = 40) -> Any:
    """The picture with the unknown pixels found; only the known ones of ``picture`` are used."""
    missing = np.full(int(np.sum(~is_known)), np.mean(picture[is_known]))
    for rank in RANKS:
        missing = mo.optim.minimize(loss, missing, picture, is_known, rank, method="lbfgs", max_iterations=iterations).x
    return filled(missing, picture, is_known)


def decibels(found: Any, picture: Any) -> float:
    """The ratio of the largest value to the root mean square of the error."""
    return float(-10 * np.log10(np.mean((found - picture) ** 2)))


def draw(path: str, pictures: dict[str, Any]) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, sides = plt.subplots(
        1, len(pictures), squeeze=False, figsize=(4 * len(pictures), 4.3), layout="constrained"
    )
    for axes, (title, pixels) in zip(sides[0], pictures.items(), strict=True):
        axes.imshow(pixels, cmap="gray", vmin=0, vmax=1)
        axes.set(title=title, xticks=[], yticks=[])
    figure.savefig(path, dpi=110)
    plt.close(figure)


def main(path: str = "low_rank_image_recovery.png") -> None:
    picture = slice_of_a_head()
    is_known = np.random.default_rng(0).random(picture.shape) < KNOWN
    guess = np.where(is_known, picture, np.mean(picture[is_known]))
    found = recover(picture, is_known)
    print(f"{np.mean(is_known):.0%} of the pixels known; mean in the others: {decibels(guess, picture):.1f} dB")
    print(f"recovered: {decibels(found, picture):.1f} dB")
    draw(path, {"known": np.where(is_known, picture, 0.0), "recovered": np.clip(found, 0, 1), "true": picture})
    print(f"{path} written")


if __name__ == "__main__":
    main()
