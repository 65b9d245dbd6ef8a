"""Find a plate's conductivity from temperatures measured on it: a gradient through conjugate-gradient solves.

Heat flows through a plate whose edge is kept at 0: -div(k grad u) = q.  The conductivity k is unknown in each of 20 x 20 cells.
Temperatures are measured in every cell, with noise, while one quarter of the plate at a time is heated.  The misfit depends
on log k through four solves of 400 equations.  Its gradient needs one more solve for each of them, independent of the number
of iterations of the first.  L-BFGS finds k.

    python examples/implicit_cg.py
"""

from __future__ import annotations

from time import perf_counter

import numpy as np

import morula as mo
from morula.linalg import Diagonal, FunctionOperator, cg

N = 20
NOISE = 2e-3  # of the highest temperature
SMOOTHNESS = 2e-3


def harmonic(a, b):
    """The conductivity of the face between two cells: their harmonic mean."""
    return 2 * a * b / (a + b)


def faces(k):
    """Conductivities of the faces between rows, (N + 1, N), and columns, (N, N + 1); the edge is half a cell away."""
    rows = np.concatenate([2 * k[:1], harmonic(k[1:], k[:-1]), 2 * k[-1:]], axis=0)
    columns = np.concatenate([2 * k[:, :1], harmonic(k[:, 1:], k[:, :-1]), 2 * k[:, -1:]], axis=1)
    return rows, columns


def outflow(u, rows, columns):
    """The heat flow out of each cell at temperatures u: the linear function that is inverted."""
    u = np.pad(np.reshape(u, (N, N)), 1)
    down = rows * (u[1:, 1:-1] - u[:-1, 1:-1])
    right = columns * (u[1:-1, 1:] - u[1:-1, :-1])
    return np.reshape(down[:-1] - down[1:] + right[:, :-1] - right[:, 1:], -1)


def temperatures(k, sources):
    rows, columns = faces(k)
    A = FunctionOperator(outflow, (N * N, N * N), (rows, columns))
    diagonal = np.reshape(rows[:-1] + rows[1:] + columns[:, :-1] + columns[:, 1:], -1)
    return [cg(A, q, preconditioner=Diagonal(1 / diagonal)).x for q in sources]


def loss(log_k, sources, measured):
    misfit = sum(np.sum((u - m) ** 2) for u, m in zip(temperatures(np.exp(log_k), sources), measured))
    roughness = np.sum(np.diff(log_k, axis=0) ** 2) + np.sum(np.diff(log_k, axis=1) ** 2)
    return misfit + SMOOTHNESS * roughness


def picture(k):
    """The plate as lines of characters, darker for a higher conductivity."""
    shades = " .:-=+*#%@"
    levels = np.clip(np.log(k) / np.log(8.0), 0, 0.999) * len(shades)
    return ["".join(shades[int(level)] * 2 for level in row) for row in levels]


def main() -> None:
    rng = np.random.default_rng(3)
    y, x = np.meshgrid(np.arange(N), np.arange(N), indexing="ij")
    k = np.where((x - 6) ** 2 + (y - 7) ** 2 < 18, 5.0, 1.5)
    k = np.where((abs(x - 14) < 3) & (abs(y - 12) < 5), 3.0, k)
    quarters = [
        (x < N / 2) & (y < N / 2),
        (x >= N / 2) & (y < N / 2),
        (x < N / 2) & (y >= N / 2),
        (x >= N / 2) & (y >= N / 2),
    ]
    sources = [np.where(where, 0.3, 0.0).reshape(-1) for where in quarters]
    exact = temperatures(k, sources)
    measured = [u + NOISE * u.max() * rng.standard_normal(N * N) for u in exact]

    start = np.full((N, N), np.log(2.0))
    tick = perf_counter()
    value, gradient = mo.value_and_grad(loss)(start, sources, measured)
    with_gradient = perf_counter() - tick
    tick = perf_counter()
    loss(start, sources, measured)
    alone = perf_counter() - tick
    direction, h = rng.standard_normal((N, N)), 1e-4
    ahead, behind = (loss(start + s * h * direction, sources, measured) for s in (1, -1))
    print(f"loss at the start {value:.6f}; its slope in a random direction")
    print(f"  by the implicit gradient   {np.sum(gradient * direction):.8f}")
    print(f"  by central differences     {(ahead - behind) / (2 * h):.8f}")
    print(f"loss and gradient take {with_gradient / alone:.1f} times as long as the loss alone\n")

    result = mo.optim.minimize(loss, start, sources, measured, method="lbfgs", tol=1e-6, max_iterations=200)
    found = np.exp(result.x)
    print(f"L-BFGS: {result.message} after {result.iterations} iterations; loss {result.value:.6f}\n")
    print(f"{'true conductivity':<{2 * N + 4}}found")
    for left, right in zip(picture(k), picture(found)):
        print(f"{left}    {right}")
    print(f"\nmedian of found against true: in the disc {np.median(found[k == 5.0]):.2f} against 5,", end=" ")
    print(
        f"in the bar {np.median(found[k == 3.0]):.2f} against 3, elsewhere {np.median(found[k == 1.5]):.2f} against 1.5"
    )


if __name__ == "__main__":
    main()
