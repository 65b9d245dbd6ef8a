"""A planet over a million steps: the energy of a symplectic method oscillates, that of a Runge-Kutta method drifts.

The orbit has the eccentricity 0.5. All methods take 200 steps per revolution, for 5,000 revolutions, compiled to native loops. The
pictures show the error of the energy on logarithmic axes, and the last revolution.

E. Hairer, C. Lubich, G. Wanner, Geometric Numerical Integration (2006), I.2 and IX.8.

    python examples/kepler_million_steps.py [--picture kepler_million_steps.png]
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

import morula as mo
from morula.ode import odesolve, symplectic

ECCENTRICITY = 0.5
REVOLUTIONS, STEPS = 5_000, 200
"""The number of revolutions, and of steps in one."""
SAMPLES = 25
"""The number of positions that are kept of one revolution."""
TIMES = 2 * np.pi * np.linspace(0.0, REVOLUTIONS, SAMPLES * REVOLUTIONS + 1)
START = np.array([1 - ECCENTRICITY, 0.0]), np.array([0.0, np.sqrt((1 + ECCENTRICITY) / (1 - ECCENTRICITY))])
METHODS = {
    "leapfrog": "leapfrog, order 2",
    "blanes_moan4": "Blanes and Moan, order 4",
    "rk4": "Runge and Kutta, order 4",
}


def attraction(q):
    return -q / np.sum(q * q) ** 1.5


def by_first_order(t, y):
    return np.concatenate((y[2:], attraction(y[:2])))


def orbit(method):
    """Return the positions and velocities (m, 2) at ``TIMES``."""
    steps = STEPS // SAMPLES
    if method == "rk4":
        y = odesolve(by_first_order, np.concatenate(START), TIMES, method="rk4", steps=steps).y
        return y[:, :2], y[:, 2:]
    found = symplectic(attraction, *START, TIMES, method=method, steps=steps)
    return found.positions, found.velocities


def energy(q, v):
    return 0.5 * np.sum(v * v, axis=1) - 1.0 / np.sqrt(np.sum(q * q, axis=1))


def energy_errors(orbits):
    """Return the relative error of the energy (m,) of each method."""
    return {name: np.abs(energy(*orbits[name]) / -0.5 - 1.0) for name in orbits}


def growth(error):
    """Return by which factor the largest error of the last tenth of the time exceeds that of the first tenth."""
    tenth = len(error) // 10
    return np.max(error[-tenth:]) / np.max(error[:tenth])


def solved():
    return {name: mo.jit(lambda name=name: orbit(name), target="native")() for name in METHODS}


def main():
    parser = argparse.ArgumentParser(description="Solve the Kepler problem over a million steps.")
    parser.add_argument("--picture", default="kepler_million_steps.png", help="the file to write the picture to")
    options = parser.parse_args()
    orbits = solved()
    for name, error in energy_errors(orbits).items():
        print(
            f"{METHODS[name]}: the error of the energy is {np.max(error):.1e} and grows by a factor of {growth(error):.2f}"
        )
    draw(options.picture, orbits)


def draw(path, orbits):
    try:
        import matplotlib

        matplotlib.use("Agg")
        import matplotlib.pyplot as plt
    except ImportError:
        print("no picture: it needs matplotlib (pip install 'morula[examples]')")
        return
    _, (left, right) = plt.subplots(1, 2, figsize=(11, 4.5), layout="constrained", width_ratios=(1.4, 1))
    revolutions = np.arange(1, REVOLUTIONS + 1)
    for name, error in energy_errors(orbits).items():
        largest = error[1:].reshape(REVOLUTIONS, SAMPLES).max(axis=1)
        left.loglog(revolutions, largest, label=METHODS[name])
        last = orbits[name][0][-SAMPLES - 1 :]
        right.plot(last[:, 0], last[:, 1], ".-", lw=0.7)
    left.set(xlabel="revolutions", ylabel="largest relative error of the energy in one revolution")
    left.legend()
    angle = np.linspace(0, 2 * np.pi, 400)
    right.plot(
        np.cos(angle) - ECCENTRICITY, np.sqrt(1 - ECCENTRICITY**2) * np.sin(angle), "k--", lw=0.8, label="exact orbit"
    )
    right.plot(0, 0, "k*")
    right.set(xlabel="x", ylabel="y", aspect="equal", title="the last revolution")
    right.legend(loc="upper right")
    plt.savefig(path, dpi=120)
    plt.close()
    print(f"picture: {Path(path).resolve()}")


if __name__ == "__main__":
    main()
