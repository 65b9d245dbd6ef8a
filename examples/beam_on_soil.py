"""A boundary-value problem with a learned coefficient: how stiff is the soil under a beam?

A beam with clamped ends lies on soil and bends under its load: w'''' = load - k(x) w. The stiffness k varies along the
beam. It is found from the deflections that were measured at 21 places, as the exponential of a polynomial whose coefficients
the gradient fits; it goes through the solver of the boundary-value problem by the implicit function theorem.

M. Hetenyi, Beams on Elastic Foundation (1946), for the equation.

    python examples/beam_on_soil.py [--picture beam_on_soil.png]
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from morula.ode.boundary import bvpsolve
from morula.optim import least_squares

PLACES = np.linspace(0.0, 1.0, 21)
"""Where the deflection is measured, in units of the beam's length."""
LOAD = 100.0
TRUE = np.array([5.5, 0.9, -0.7])
GUESS = np.array([5.0, 0.0, 0.0])
"""The logarithm of the stiffness as coefficients of Legendre polynomials on the beam."""
NOISE = 2e-4


def stiffness(x, coefficients):
    s = 2.0 * x - 1.0
    return np.exp(coefficients[0] + coefficients[1] * s + coefficients[2] * (1.5 * s * s - 0.5))


def bending(x, w, coefficients):
    return np.stack([w[1], w[2], w[3], LOAD - stiffness(x, coefficients) * w[0]])


def clamped(left, right, coefficients):
    return np.stack([left[0], left[1], right[0], right[1]])


def deflections(coefficients, places=PLACES):
    """Return the deflection (m,) at the given places."""
    mesh = np.linspace(0.0, 1.0, 21)
    return bvpsolve(bending, clamped, mesh, np.zeros((21, 4)), coefficients, tol=1e-4).sol(places)[:, 0]


def observed():
    return deflections(TRUE) + NOISE * np.random.default_rng(4).normal(size=len(PLACES))


def misfits(coefficients, seen):
    return (deflections(coefficients) - seen) / NOISE


def fit(seen):
    return least_squares(misfits, GUESS, seen, tol=1e-6)


def main():
    parser = argparse.ArgumentParser(description="Find the stiffness of the soil under a beam from its deflection.")
    parser.add_argument("--picture", default="beam_on_soil.png", help="the file to write the picture to")
    options = parser.parse_args()
    seen = observed()
    found = fit(seen)
    for name, value, true in zip(("mean", "slope", "curvature"), found.x, TRUE):
        print(f"{name} of the logarithm of the stiffness: {value:.3f} (true {true})")
    print(f"root mean square of the misfit: {np.sqrt(np.mean(misfits(found.x, seen) ** 2)):.2f} standard deviations")
    draw(options.picture, seen, found.x)


def draw(path, seen, found):
    try:
        import matplotlib

        matplotlib.use("Agg")
        import matplotlib.pyplot as plt
    except ImportError:
        print("no picture: it needs matplotlib (pip install 'morula[examples]')")
        return
    x = np.linspace(0.0, 1.0, 201)
    _, (left, right) = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
    left.plot(PLACES, seen, "k.", label="measured")
    left.plot(x, deflections(GUESS, x), ":", color="grey", label="first guess")
    left.plot(x, deflections(found, x), label="fitted")
    left.invert_yaxis()
    left.set(xlabel="place / length of the beam", ylabel="deflection (downwards)")
    left.legend()
    right.plot(x, stiffness(x, GUESS), ":", color="grey", label="first guess")
    right.plot(x, stiffness(x, found), label="learned")
    right.plot(x, stiffness(x, TRUE), "k--", lw=1, label="true")
    right.set(xlabel="place / length of the beam", ylabel="stiffness of the soil", ylim=(0, None))
    right.legend()
    plt.savefig(path, dpi=120)
    plt.close()
    print(f"picture: {Path(path).resolve()}")


if __name__ == "__main__":
    main()
