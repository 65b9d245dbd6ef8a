"""Find the speed of sound under ground from echoes: full-waveform inversion within a budget of memory.

A pulse at each of five places on the surface sends waves into the ground, and a row of receivers at the surface records them.  The layers
of the ground are known; the speed of sound in each cell is found by minimising the squared difference to the records (with L-BFGS).  The
gradient with respect to all cells goes back through every time step, and ``checkpoint`` keeps the states that fit into the budget.

    python examples/sounding_the_ground.py [--picture sounding_the_ground.png]

Source: A. Tarantola, "Inversion of seismic reflection data in the acoustic approximation", Geophysics 49 (1984).
"""

from __future__ import annotations

import argparse
import contextlib
import io
from pathlib import Path

import numpy as np
from scipy.optimize import minimize

import morula as mo

DEPTH, WIDTH, STEPS = 40, 60, 240
SOURCES = np.array([6, 18, 30, 42, 54])
BUDGET = "1MB"


def layers():
    """The squared speed (in cells per step) that is known before: that of the rock above, and of the rock below."""
    c = np.full((DEPTH, WIDTH), 0.16)
    c[24:] = 0.22
    return c


def ground():
    """The squared speed to be found: two bodies in the upper layer."""
    row, column = np.mgrid[:DEPTH, :WIDTH]
    fast = np.exp(-(((row - 13) / 4.0) ** 2) - ((column - 22) / 6.0) ** 2)
    slow = np.exp(-(((row - 15) / 3.0) ** 2) - ((column - 42) / 5.0) ** 2)
    return layers() + 0.06 * fast - 0.05 * slow


def absorbing():
    """A factor for each step that takes the waves out near the edges, but not at the surface."""
    row, column = np.mgrid[:DEPTH, :WIDTH]
    near = np.maximum(0, 8 - np.minimum(np.minimum(column, WIDTH - 1 - column), DEPTH - 1 - row))
    return np.exp(-((0.03 * near) ** 2))


def pulse(t):
    """A Ricker wavelet."""
    a = (np.pi * 0.05 * (t - 28.0)) ** 2
    return (1.0 - 2.0 * a) * np.exp(-a)


def misfit(c, source, records, damping):
    """Half the squared difference between the waves at the surface and the records of one pulse."""
    u = v = np.zeros_like(c)
    total = 0.0
    for t in range(STEPS):
        lap = np.zeros_like(u)
        lap[1:-1, 1:-1] = u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] - 4.0 * u[1:-1, 1:-1]
        u, v = damping * (2.0 * u - damping * v + c * lap), u
        u[2, source] += pulse(t)
        total += 0.5 * np.sum((u[2] - records[t]) ** 2)
    return total


@mo.jit
def recorded(c, source, damping):
    """What the receivers record."""
    u = v = np.zeros_like(c)
    records = np.zeros((STEPS, WIDTH))
    for t in range(STEPS):
        lap = np.zeros_like(u)
        lap[1:-1, 1:-1] = u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] - 4.0 * u[1:-1, 1:-1]
        u, v = damping * (2.0 * u - damping * v + c * lap), u
        u[2, source] += pulse(t)
        records[t] = u[2]
    return records


def of_all(c, records, damping):
    return sum(mo.checkpoint(misfit, c, s, r, damping, memory=BUDGET) for s, r in zip(SOURCES, records))


value_and_gradient = mo.jit(mo.value_and_grad(of_all))


def invert(records, start, steps=60):
    """The squared speed that explains the records, from a first guess; the cells at the surface are known."""
    damping = absorbing()

    def objective(x):
        c = np.concatenate([start[:4], x.reshape(DEPTH - 4, WIDTH)])
        y, slope = value_and_gradient(c, records, damping)
        return y, slope[4:].ravel()

    found = minimize(
        objective,
        start[4:].ravel(),
        jac=True,
        method="L-BFGS-B",
        bounds=[(0.10, 0.30)] * start[4:].size,
        options={"maxiter": steps},
    )
    return np.concatenate([start[:4], found.x.reshape(DEPTH - 4, WIDTH)]), found.fun


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--picture", type=Path, help="where to save a picture")
    options = parser.parse_args()
    truth, damping = ground(), absorbing()
    records = np.stack([recorded(truth, s, damping) for s in SOURCES])
    before, _ = value_and_gradient(layers(), records, damping)
    with contextlib.redirect_stdout(io.StringIO()):
        told = value_and_gradient.explain(layers(), records, damping)
    print(next(line for line in told.split("; ") if f"memory='1 {BUDGET[1:]}'" in line).splitlines()[0])
    found, after = invert(records, layers())
    error = np.linalg.norm(found - truth) / np.linalg.norm(layers() - truth)
    print(f"misfit: {before:.3g} at the start, {after:.3g} at the end")
    print(f"error of the squared speed: {100 * error:.0f} % of that of the known layers")
    if options.picture:
        import matplotlib.pyplot as plt

        figure, axes = plt.subplots(1, 3, figsize=(11, 3.2), layout="constrained")
        for part, image, title in zip(axes, (truth, found), ("the ground", "found from the echoes")):
            part.imshow(image, vmin=0.10, vmax=0.24, cmap="cividis")
            part.set(title=title, xlabel="cells", ylabel="depth")
        figure.colorbar(axes[1].images[0], ax=axes[:2], label="squared speed")
        axes[2].imshow(records[2], aspect="auto", cmap="RdBu", vmin=-0.3, vmax=0.3)
        axes[2].set(title="record of the middle pulse", xlabel="receiver", ylabel="time step")
        figure.savefig(options.picture, dpi=120)


if __name__ == "__main__":
    main()
