"""Aim a spacecraft at Mars through the gravity of the Sun and Jupiter.

A probe leaves the Earth's orbit (the Earth's own gravity is neglected) and must meet Mars after a given time of
flight.  Newton's method finds its velocity at departure: the Jacobian of the position on arrival with respect to this
velocity is the derivative of the adaptive n-body integration, taken from its source.  The derivative of the
same program with respect to the time of flight shows the effect of arriving a day late.

    python examples/orbit_design.py [--picture orbit_design.png]

Units: astronomical units, years, solar masses.  Orbits are taken as circular and in one plane (radii and masses: NASA
planetary fact sheet).
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

import morula as mo
from morula.ode import odesolve
from morula.physics import SOLAR_GRAVITATION, nbody_ode

MASSES = np.array([1.0, 9.5479e-4, 0.0])  # the Sun, Jupiter, the probe
EARTH, MARS, JUPITER = 1.0, 1.523679, 5.2044
FLIGHT = 0.52  # years
KM, DAY, KM_PER_S = 149_597_870.7, 1 / 365.25, 4.740470  # AU in km, day in years, AU/yr in km/s


def circular(radius, angle):
    """Position and velocity on a circular orbit about the Sun."""
    speed = np.sqrt(SOLAR_GRAVITATION / radius)
    direction = np.array([np.cos(angle), np.sin(angle)])
    return radius * direction, speed * np.array([-direction[1], direction[0]])


def fly(velocity, ts, masses=MASSES, tolerance=1e-9):
    """The probe's positions and velocities at the times ts, for a velocity at departure."""
    earth, _ = circular(EARTH, 0.0)
    jupiter, jupiter_velocity = circular(JUPITER, 1.2)
    positions = np.stack([np.zeros(2), jupiter, earth])
    velocities = np.stack([np.zeros(2), jupiter_velocity, velocity])
    start = (positions, velocities)
    solution = odesolve(
        nbody_ode, start, ts, masses, SOLAR_GRAVITATION, method="dop853", rtol=tolerance, atol=tolerance
    )
    positions, velocities = solution.y
    return positions[:, 2], velocities[:, 2]


def mars(t):
    """Mars is 58 degrees ahead of the Earth at departure."""
    return circular(MARS, np.deg2rad(58.0) + np.sqrt(SOLAR_GRAVITATION / MARS**3) * t)


def miss(velocity, flight=FLIGHT, masses=MASSES):
    """The probe's position relative to Mars on arrival, in AU."""
    return fly(velocity, [0.0, flight], masses)[0][-1] - mars(flight)[0]


def aim(masses=MASSES, report=print):
    """The departure velocities that Newton's method tries; the last one hits."""
    _, earth = circular(EARTH, 0.0)
    hohmann = np.sqrt(2 * MARS / (EARTH + MARS))
    tried = [earth * hohmann]
    report("  step   departure (km/s)        misses Mars by (km)")
    for step in range(12):
        velocity = tried[-1]
        residual = miss(velocity, masses=masses)
        distance = np.hypot(*residual)
        vx, vy = (velocity - earth) * KM_PER_S
        report(f"  {step:4d}   {vx:8.4f} {vy:8.4f}   {distance * KM:22,.3f}")
        if distance * KM < 1e-2:
            break
        change = np.linalg.solve(mo.jacobian(lambda v: miss(v, masses=masses))(velocity), -residual)
        limit = 0.5  # AU/yr: far from the target the linear model is not valid for longer steps
        tried.append(velocity + change * min(1.0, limit / np.hypot(*change)))
    return tried


def main():
    parser = argparse.ArgumentParser(description="Aim a spacecraft at Mars.")
    parser.add_argument("--picture", default="orbit_design.png", help="the file to write the picture to")
    options = parser.parse_args()
    _, earth = circular(EARTH, 0.0)

    print("Newton's method on the departure velocity, starting from Hohmann's:")
    tried = aim()
    velocity = tried[-1]
    without_jupiter = aim(MASSES * [1, 0, 0], report=lambda line: None)[-1]
    (x, v) = fly(velocity, [0.0, FLIGHT], tolerance=1e-12)
    departure, arrival = np.hypot(*(velocity - earth)), np.hypot(*(v[-1] - mars(FLIGHT)[1]))
    slope = mo.jacobian(miss)(velocity)
    late = mo.jacobian(lambda t: miss(velocity, t))(FLIGHT)
    print(f"\nrelative to the Earth {departure * KM_PER_S:.3f} km/s, on arrival to Mars {arrival * KM_PER_S:.3f} km/s")
    print(f"checked at a tolerance of 1e-12: misses by {np.hypot(*(x[-1] - mars(FLIGHT)[0])) * KM:.2f} km")
    print(f"Jupiter's pull is worth {np.hypot(*(velocity - without_jupiter)) * KM_PER_S * 1000:.2f} m/s of it")
    print(f"an error of 1 m/s at departure misses by up to {np.linalg.norm(slope, 2) / KM_PER_S / 1000 * KM:,.0f} km")
    print(f"a day late, Mars is {np.hypot(*late) * DAY * KM:,.0f} km off")
    draw(options.picture, tried)


def draw(path, tried):
    """Draw the orbits, and the flight for each departure velocity that was tried."""
    try:
        import matplotlib

        matplotlib.use("Agg")
        import matplotlib.pyplot as plt
    except ImportError:
        print("no picture: it needs matplotlib (pip install 'morula[examples]')")
        return
    figure, axes = plt.subplots(figsize=(8.2, 6.4), layout="constrained")
    angle = np.linspace(0, 2 * np.pi, 300)
    for radius, colour, name in ((EARTH, "tab:blue", "Earth"), (MARS, "tab:red", "Mars")):
        axes.plot(
            radius * np.cos(angle), radius * np.sin(angle), color=colour, lw=0.8, alpha=0.6, label=f"orbit of {name}"
        )
    for i, velocity in enumerate(tried):
        x, _ = fly(velocity, np.linspace(0, FLIGHT, 200))
        final = i == len(tried) - 1
        axes.plot(*x.T, color="k" if final else "0.6", lw=1.6 if final else 0.9, ls="-" if final else "--",
                  label="flight" if final else "Newton's earlier tries" if i == 0 else None)  # fmt: skip
    axes.plot(0, 0, "o", color="gold", ms=12)
    axes.plot(*circular(EARTH, 0.0)[0], "o", color="tab:blue", label="departure")
    axes.plot(*mars(FLIGHT)[0], "o", color="tab:red", label="Mars on arrival")
    axes.set(aspect="equal", xlabel="x (AU)", ylabel="y (AU)", title=f"{FLIGHT * 365.25:.0f} days to Mars")
    axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), fontsize=8)
    figure.savefig(path, dpi=130)
    print(f"picture: {Path(path).resolve()}")


if __name__ == "__main__":
    main()
