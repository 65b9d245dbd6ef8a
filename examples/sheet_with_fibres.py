"""Stretch a sheet with a hole that is reinforced by fibres: a material law made of eigenvectors, from rest.

The energy of each triangle follows from its logarithmic strain E = log(F^T F) / 2 (H. Hencky, 1928), which is made of the
eigenvalues and eigenvectors of F^T F; the fibres add the square of their own strain a^T E a where it is positive.  At
rest F is the unit matrix in every triangle, so both eigenvalues are equal, and the energy's gradient there needs the limits
of divided differences: a derivative of the eigenvectors alone is infinite.  The sheet is clamped below, pulled by a quarter of
its height above, and L-BFGS minimises its energy over the other nodes.

    python examples/sheet_with_fibres.py [picture.png]
"""

from __future__ import annotations

import sys
from time import perf_counter

import numpy as np
from scipy.optimize import minimize

import morula as mo

SHEAR, BULK, FIBRES = 1.0, 2.0, 30.0  # moduli


def holed_square(rings=8, rays=40, radius=0.35):
    """Nodes between a circle and the square (-1, 1)^2, and triangles as triples of nodes."""
    angle = 2 * np.pi * np.arange(rays) / rays
    circle = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    square = circle / np.max(np.abs(circle), axis=1, keepdims=True)
    t = np.linspace(0.0, 1.0, rings + 1)[:, None, None] ** 1.3
    nodes = ((1 - t) * radius * circle + t * square).reshape(-1, 2)
    i, j = (x.ravel() for x in np.meshgrid(np.arange(rings), np.arange(rays), indexing="ij"))
    a, b = i * rays + j, i * rays + (j + 1) % rays
    return nodes, np.concatenate([np.stack([a, a + rays, b], axis=1), np.stack([b, a + rays, b + rays], axis=1)])


def full_square(n=6):
    """The square (-1, 1)^2 without a hole, in n x n cells of two triangles."""
    side = np.linspace(-1.0, 1.0, n + 1)
    nodes = np.stack(np.meshgrid(side, side, indexing="ij"), axis=-1).reshape(-1, 2)
    i, j = (x.ravel() for x in np.meshgrid(np.arange(n), np.arange(n), indexing="ij"))
    a = i * (n + 1) + j
    return nodes, np.concatenate([np.stack([a, a + n + 1, a + 1], 1), np.stack([a + 1, a + n + 1, a + n + 2], 1)])


def edges(nodes, triangles):
    """The two edges of each triangle from its first node, as columns: (triangles, 2, 2)."""
    first = nodes[triangles[:, 0]]
    return np.stack([nodes[triangles[:, 1]] - first, nodes[triangles[:, 2]] - first], axis=-1)


def strain(f):
    """The logarithmic strain of deformation gradients (..., 2, 2)."""
    squares, v = np.linalg.eigh(np.swapaxes(f, -1, -2) @ f)
    return (v * (0.5 * np.log(squares))[..., None, :]) @ np.swapaxes(v, -1, -2)


class Sheet:
    """Nodes, of which those at the top and at the bottom are held, and the energy as a function of the others."""

    def __init__(self, nodes, triangles, fibres=FIBRES, angle=np.pi / 6, is_gripped=True):
        self.nodes, self.triangles, self.fibres = nodes, triangles, fibres
        self.at_rest = np.linalg.inv(edges(nodes, triangles))
        self.area = 0.5 / np.linalg.det(self.at_rest)
        self.along = np.array([np.cos(angle), np.sin(angle)])
        is_edge = np.abs(np.abs(nodes[:, 1]) - 1.0) < 1e-12
        is_held = np.stack(
            [is_edge & is_gripped, is_edge], axis=1
        )  # a sheet that is not gripped may narrow at its ends
        is_held[np.argmin(nodes.sum(axis=1))] = True
        self.free = np.flatnonzero(~is_held)
        compute = mo.jit(mo.value_and_grad(self.energy), target="native")
        self.compute = lambda x, held: compute(x, held)

    def energy(self, x, held):
        nodes = held.ravel().copy()
        nodes[self.free] = x
        e = strain(edges(nodes.reshape(held.shape), self.triangles) @ self.at_rest)
        trace = e[:, 0, 0] + e[:, 1, 1]
        along = np.maximum((e @ self.along) @ self.along, 0.0)
        density = SHEAR * np.sum(e * e, axis=(1, 2)) + 0.5 * BULK * trace**2 + 0.5 * self.fibres * along**2
        return np.sum(self.area * density)

    def stretched(self, factor, steps=4):
        """The nodes when the sheet's height is multiplied by a factor, in steps, and the energy."""
        x, energy, held = self.nodes.ravel()[self.free], 0.0, self.nodes
        for k in range(1, steps + 1):
            held = self.nodes * np.array([1.0, 1.0 + (factor - 1.0) * k / steps])
            found = minimize(
                self.compute, x, args=(held,), jac=True, method="L-BFGS-B", options={"maxiter": 4000, "ftol": 1e-12, "gtol": 1e-7}
            )  # fmt: skip
            x, energy = found.x, found.fun
        nodes = held.ravel().copy()
        nodes[self.free] = x
        return nodes.reshape(-1, 2), energy

    def strains(self, nodes):
        return strain(edges(nodes, self.triangles) @ self.at_rest)


def main() -> None:
    began = perf_counter()
    sheet = Sheet(*holed_square())
    moved, energy = sheet.stretched(1.25)
    along = (sheet.strains(moved) @ sheet.along) @ sheet.along
    print(f"{len(sheet.triangles)} triangles, {len(sheet.free)} unknowns: energy {energy:.6f}")
    print(f"strain of the fibres from {along.min():.3f} to {along.max():.3f}, in {perf_counter() - began:.1f} s")
    if len(sys.argv) > 1:
        draw(sheet, moved, along, sys.argv[1])


def draw(sheet, moved, along, path):
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(10, 5.6), sharey=True, layout="constrained")
    limit = np.max(np.abs(along))
    for axis, nodes, colours in ((axes[0], sheet.nodes, 0 * along), (axes[1], moved, along)):
        shown = axis.tripcolor(*nodes.T, sheet.triangles, colours, cmap="coolwarm", vmin=-limit, vmax=limit, edgecolors="0.6", linewidth=0.3)  # fmt: skip
        axis.set_aspect("equal")
    axes[0].set_title("at rest: equal eigenvalues in all triangles")
    axes[0].plot(*np.outer([-0.3, 0.3], sheet.along).T, color="k", lw=2)
    axes[0].text(0.0, -0.22, "fibres", ha="center")
    axes[1].set_title("height times 1.25")
    figure.colorbar(shown, ax=axes, label="strain along the fibres", shrink=0.85)
    figure.savefig(path, dpi=100)


if __name__ == "__main__":
    main()
