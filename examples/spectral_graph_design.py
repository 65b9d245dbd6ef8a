"""Make a social network hold together: choose the strengths of its ties by the gradient of an eigenvalue.

The karate club of W.W. Zachary ("An information flow model for conflict and fission in small groups", J. Anthropol. Res. 33
(1977) 452-473) has 34 members and 78 ties, and broke in two. The second smallest eigenvalue of the weighted Laplacian, the
algebraic connectivity, says how well a network is connected. What is its largest value if the strengths of the ties, which
add up to 78, are free? Where it is largest several eigenvalues meet, so the mean of the lowest eigenvalues is taken with weights
that favour the smallest: a smooth function of all of them, whose gradient ``eigsh`` has also where they are equal.

The gradient also says how good the answer is: no distribution of the same total has a connectivity above 78 times the largest
entry of the gradient of the smooth minimum (weak duality; S. Boyd, P. Diaconis, L. Xiao, "Fastest mixing Markov chain on a
graph", SIAM Rev. 46 (2004) 667-689).

    python examples/spectral_graph_design.py
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import shortest_path

import morula as mo
from morula.linalg import Sparse, eigsh

TIES = """
0 1 0 2 0 3 0 4 0 5 0 6 0 7 0 8 0 10 0 11 0 12 0 13 0 17 0 19 0 21 0 31 1 2 1 3 1 7 1 13 1 17 1 19 1 21 1 30 2 3 2 7 2 8 2 9
2 13 2 27 2 28 2 32 3 7 3 12 3 13 4 6 4 10 5 6 5 10 5 16 6 16 8 30 8 32 8 33 9 33 13 33 14 32 14 33 15 32 15 33 18 32 18 33
19 33 20 32 20 33 22 32 22 33 23 25 23 27 23 29 23 32 23 33 24 25 24 27 24 31 25 31 26 29 26 33 27 33 28 31 28 33 29 32 29 33
30 32 30 33 31 32 31 33 32 33
"""
ENDS = np.array(TIES.split(), int).reshape(-1, 2)
MEMBERS, COUNT = 34, len(ENDS)
LOWEST = 12  # eigenvalues that may meet, the zero of the constant vector among them


def incidence_pattern() -> tuple[Any, Any]:
    """The columns and row pointers of the CSR matrix with +1 and -1 at the ends of each tie."""
    return ENDS.ravel(), np.arange(0, 2 * COUNT + 1, 2)


def eigenvalues(weights: Any) -> Any:
    """The lowest eigenvalues of the Laplacian B^T B, where row e of B is sqrt(w_e) times the incidence of tie e."""
    columns, pointers = incidence_pattern()
    entries = np.stack([np.sqrt(weights), -np.sqrt(weights)], axis=1).ravel()
    B = Sparse(entries, columns, pointers, (COUNT, MEMBERS))
    return eigsh(B.T @ B, LOWEST, "smallest", vectors=False).values


def smooth_minimum(weights: Any, sharpness: float) -> Any:
    """A lower bound of the connectivity that approaches it: -log(sum of exp(-t lambda)) / t."""
    values = eigenvalues(weights)[1:]
    least = mo.stop_gradient(values[0])
    return least - np.log(np.sum(np.exp(-sharpness * (values - least)))) / sharpness


def strengths(logits: Any) -> Any:
    """Positive strengths whose sum is the number of ties."""
    shares = np.exp(logits - np.max(logits))
    return COUNT * shares / np.sum(shares)


def design(sharpnesses: tuple[float, ...] = (30.0, 100.0, 300.0), iterations: int = 60) -> tuple[Any, float, float]:
    """The strengths found, their connectivity, and an upper bound of that of any others."""
    logits, bound = np.zeros(COUNT), np.inf
    for sharpness in sharpnesses:
        result = mo.optim.minimize(
            lambda x, t=sharpness: -smooth_minimum(strengths(x), t), logits, method="lbfgs", max_iterations=iterations
        )
        logits = result.x
        slope = mo.grad(smooth_minimum)(strengths(logits), sharpness)
        bound = min(bound, COUNT * float(np.max(slope)))
    weights = strengths(logits)
    return weights, float(eigenvalues(weights)[1]), bound


def places() -> Any:
    """Where to draw the members: as far apart as the number of ties between them, as nearly as possible in the plane.

    The places minimise the stress of T. Kamada and S. Kawai (Inf. Process. Lett. 31 (1989) 7-15).
    """
    ties = coo_array((np.ones(COUNT), ENDS.T), shape=(MEMBERS, MEMBERS))
    steps = shortest_path(ties, directed=False)[i := np.triu_indices(MEMBERS, 1)]

    def stress(x: Any) -> Any:
        return np.sum((np.sqrt(np.sum((x[i[0]] - x[i[1]]) ** 2, axis=1) + 1e-12) / steps - 1) ** 2)

    angle = np.arange(MEMBERS) * 2.4
    start = 2 * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    return mo.optim.minimize(stress, start, method="lbfgs", max_iterations=200).x


def draw(picture: str, weights: Any) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    laplacian = np.zeros((MEMBERS, MEMBERS))
    for a, b in ENDS:
        laplacian[[a, b, a, b], [a, b, b, a]] += [1, 1, -1, -1]
    side, place = eigsh(laplacian, 2, "smallest").vectors[:, 1], places()
    figure, sides = plt.subplots(1, 2, figsize=(12, 5.5), layout="constrained")
    for axes, w, title in zip(
        sides, (np.ones(COUNT), weights), ("as it was", "as it would hold together"), strict=True
    ):
        for (a, b), strength in zip(ENDS, w, strict=True):
            axes.plot(*place[[a, b]].T, color="tab:gray", linewidth=1.5 * strength)
        axes.scatter(*place.T, c=np.sign(side), s=80, cmap="coolwarm", zorder=3)
        axes.set(title=f"{title}: connectivity {eigenvalues(w)[1]:.3f}", xticks=[], yticks=[], aspect="equal")
    figure.savefig(picture, dpi=110)
    plt.close(figure)


def main(picture: str = "spectral_graph_design.png") -> None:
    before = eigenvalues(np.ones(COUNT))[1]
    weights, after, bound = design()
    print(
        f"connectivity with equal ties {before:.4f}, with the strengths found {after:.4f}, of any others at most {bound:.4f}"
    )
    for e in np.argsort(-weights)[:5]:
        print(f"  the tie of members {ENDS[e, 0]} and {ENDS[e, 1]} has strength {weights[e]:.2f}")
    print(f"{np.sum(weights < 0.01)} of {COUNT} ties are not needed")
    draw(picture, weights)
    print(f"{picture} written")


if __name__ == "__main__":
    main()
