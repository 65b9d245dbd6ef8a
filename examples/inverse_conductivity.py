"""Recover the conductivity of a plate, 128 x 128 cells, from noisy potentials: gradients through multigrid solves.

Currents are injected into a plate whose edge is grounded, in four places at a time: -div(k grad u) = q.  The potentials are
measured in every cell, with one per cent of noise.  The misfit depends on log k through equations with 16,384 unknowns,
assembled as a sparse matrix from triplets.  Conjugate gradients with a multigrid cycle solve them in about thirty steps, and the
gradient with respect to all conductivities costs another such solve.  L-BFGS minimises the misfit and the total variation.

    python examples/inverse_conductivity.py [picture.png]
"""

from __future__ import annotations

import sys
from time import perf_counter

import numpy as np
from scipy.sparse import coo_array

import morula as mo
from morula.linalg import cg
from morula.linalg.preconditioners import geometric_multigrid

NOISE = 0.01  # of the mean potential
ROUGHNESS = 2e-4


class Plate:
    """The places of the entries of the matrix for n x n cells; ``matrix`` fills them."""

    def __init__(self, n):
        self.n = n
        number = np.arange(n * n).reshape(n, n)
        self.a = np.concatenate([number[1:].ravel(), number[:, 1:].ravel()])
        self.b = np.concatenate([number[:-1].ravel(), number[:, :-1].ravel()])
        self.edge = np.concatenate([number[0], number[-1], number[:, 0], number[:, -1]])
        self.rows = np.concatenate([self.a, self.b, self.a, self.b, self.edge])
        self.columns = np.concatenate([self.b, self.a, self.a, self.b, self.edge])

    def matrix(self, k):
        """Finite volumes: between two cells flows the difference of potentials times the harmonic mean of k."""
        k = k.ravel()
        g = 2.0 / (1.0 / k[self.a] + 1.0 / k[self.b])
        values = np.concatenate([-g, -g, g, g, 2.0 * k[self.edge]])
        return coo_array((values, (self.rows, self.columns)), shape=(self.n**2, self.n**2)).tocsr()

    def sources(self):
        """Currents of four by four electrodes, in four sets."""
        n = self.n
        places = np.array([n // 8, 3 * n // 8, 5 * n // 8, 7 * n // 8])
        q = np.zeros((4, n, n))
        for i in range(4):
            for j in range(4):
                q[(i + 2 * j) % 4, places[i], places[j]] = 1.0
        return q.reshape(4, -1)


def true_conductivity(n):
    y, x = (np.mgrid[:n, :n] + 0.5) / n
    k = np.ones((n, n))
    k[(x - 0.3) ** 2 + (y - 0.35) ** 2 < 0.03] = 4.0
    k[(abs(x - 0.7) < 0.12) & (abs(y - 0.65) < 0.2)] = 0.3
    return k


def potentials(plate, k, sources, multigrid):
    A = plate.matrix(k)
    return [cg(A, q, preconditioner=multigrid, rtol=1e-8) for q in sources]


def loss(log_k, plate, sources, measured, scale, multigrid):
    found = potentials(plate, np.exp(log_k), sources, multigrid)
    misfit = sum(np.sum((u.x - m) ** 2) for u, m in zip(found, measured)) / scale**2
    down, right = np.diff(log_k, axis=0)[:, :-1], np.diff(log_k, axis=1)[:-1]
    return misfit / plate.n**2 + ROUGHNESS * plate.n * np.mean(np.sqrt(down**2 + right**2 + 1e-4))


def recover(n=128, iterations=60, seed=0):
    """Return the true and the recovered conductivity, and what the solves cost."""
    plate = Plate(n)
    sources, k = plate.sources(), true_conductivity(n)
    start = np.zeros((n, n))
    multigrid = geometric_multigrid(plate.matrix(np.exp(start)), (n, n), "cells")
    exact = potentials(plate, k, sources, multigrid)
    scale = NOISE * np.mean([np.mean(u.x) for u in exact])
    rng = np.random.default_rng(seed)
    measured = [u.x + scale * rng.standard_normal(n * n) for u in exact]
    given = plate, sources, measured, scale, multigrid
    value_and_grad = mo.value_and_grad(loss)
    value_and_grad(start, *given)
    seconds = []
    for f in (loss, value_and_grad):
        tick = perf_counter()
        f(start, *given)
        seconds.append(perf_counter() - tick)
    result = mo.optim.minimize(loss, start, *given, method="lbfgs", tol=1e-9, max_iterations=iterations)
    steps = max(u.iterations for u in exact)
    return k, np.exp(result.x), {"steps": steps, "ratio": seconds[1] / seconds[0], "iterations": result.iterations}


def main(n: int = 128, iterations: int = 60, picture: str | None = None) -> float:
    """Recover the conductivity, print and draw it; return the median relative error of it."""
    k, found, cost = recover(n, iterations)
    print(f"{n * n:,} unknowns: {cost['steps']} steps of CG with multigrid for a solve with the true conductivity")
    print(f"misfit and gradient take {cost['ratio']:.1f} times as long as the misfit")
    error = float(np.median(np.abs(found / k - 1.0)))
    print(
        f"after {cost['iterations']} iterations of L-BFGS, the median error of the conductivity is {100 * error:.1f} %"
    )
    for name, value in (("disc", 4.0), ("bar", 0.3), ("plate", 1.0)):
        print(f"  {name:5} {np.median(found[k == value]):5.2f}, true {value}")
    if picture is not None:
        import matplotlib.pyplot as plt

        _, axes = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
        for axis, title, shown in zip(axes, ("true", "recovered"), (k, found)):
            image = axis.imshow(np.log10(shown), vmin=-0.6, vmax=0.7)
            axis.set_title(f"{title} conductivity, log10")
            plt.colorbar(image, ax=axis)
        plt.savefig(picture, dpi=120)
    return error


if __name__ == "__main__":
    main(picture=sys.argv[1] if len(sys.argv) > 1 else None)
