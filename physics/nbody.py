"""Point masses under their own gravity: accelerations, conserved quantities, and the two-body orbit in closed form.

Positions and velocities are (n, d) arrays, d = 2 or 3, in any consistent units. ``gravitation`` is Newton's constant in
these units: 6.67430e-11 in SI units; 4 pi^2 in astronomical units, years and solar masses; 1 in natural units.
"""

from __future__ import annotations

from math import pi
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core import BadInput

NEWTON = 6.67430e-11
"""Newtonian constant of gravitation, m^3 kg^-1 s^-2 (CODATA 2022)."""

SOLAR_GRAVITATION = 4 * pi**2
"""Newton's constant in astronomical units, Gaussian years and solar masses: 4 pi^2 by Kepler's third law."""


def gravity(positions: NDArray[Any], masses: Any, gravitation: Any = 1.0, softening: float = 0.0) -> NDArray[Any]:
    """Return the accelerations a_i = G sum_j m_j (x_j - x_i) / (r_ij^2 + softening^2)^(3/2).

    Args:
        positions: (n, d).
        masses: (n,).
        gravitation: Newton's constant G in the units used.
        softening: a length; 0 is Newton's law, a positive value smooths close encounters.

    Returns:
        The acceleration of every body, (n, d).

    Raises:
        BadInput: the shapes do not match.

    Source: H. C. Plummer (1911) for the softening.

    >>> gravity(np.array([[0.0, 0.0], [2.0, 0.0]]), np.array([1.0, 8.0])).tolist()
    [[2.0, 0.0], [-0.25, 0.0]]
    """
    if positions.ndim != 2 or np.shape(masses) != positions.shape[:1]:
        raise BadInput(f"positions has shape {positions.shape} and masses {np.shape(masses)}; expected (n, d) and (n,)")
    between = positions - positions[:, None]
    squared = np.sum(between * between, axis=2) + (softening**2 + np.eye(len(positions)))
    return gravitation * np.einsum("ij,ijk->ik", masses * squared**-1.5, between)


def nbody_ode(
    t: float, state: tuple[NDArray[Any], NDArray[Any]], masses: Any, gravitation: Any = 1.0, softening: float = 0.0
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the time derivative of the state of n bodies, for ``odesolve``.

    Args:
        t: the time, which has no influence.
        state: positions and velocities, both (n, d).
        masses, gravitation, softening: as for ``gravity``.

    Returns:
        The velocities and accelerations, both (n, d).

    >>> from morula.ode import odesolve
    >>> positions, velocities, masses, period = figure_eight()
    >>> orbit = odesolve(nbody_ode, (positions, velocities), [0.0, period], masses, rtol=1e-9, atol=1e-9)
    >>> bool(abs(orbit.y[0][-1] - positions).max() < 1e-5)
    True
    """
    positions, velocities = state
    return velocities, gravity(positions, masses, gravitation, softening)


def nbody_energy(
    positions: NDArray[Any], velocities: NDArray[Any], masses: Any, gravitation: Any = 1.0, softening: float = 0.0
) -> Any:
    """Return the kinetic plus potential energy.

    Args:
        positions, velocities: (..., n, d).
        masses, gravitation, softening: as for ``gravity``.

    Returns:
        The energy, of shape (...).

    >>> float(nbody_energy(np.array([[0.0, 0.0], [2.0, 0.0]]), np.zeros((2, 2)), [1.0, 8.0]))
    -4.0
    """
    masses = np.asarray(masses)
    kinetic = 0.5 * np.sum(masses * np.sum(velocities * velocities, axis=-1), axis=-1)
    first, second = np.triu_indices(len(masses), 1)
    between = positions[..., first, :] - positions[..., second, :]
    distance = np.sqrt(np.sum(between * between, axis=-1) + softening**2)
    return kinetic - gravitation * np.sum(masses[first] * masses[second] / distance, axis=-1)


def momentum(velocities: NDArray[Any], masses: Any) -> NDArray[Any]:
    """Return the total momentum.

    Args:
        velocities: (..., n, d).
        masses: (n,).

    Returns:
        The momentum, (..., d).

    >>> momentum(np.array([[1.0, 0.0], [0.0, 2.0]]), [3.0, 4.0]).tolist()
    [3.0, 8.0]
    """
    return np.sum(np.asarray(masses)[:, None] * velocities, axis=-2)


def angular_momentum(positions: NDArray[Any], velocities: NDArray[Any], masses: Any) -> NDArray[Any]:
    """Return the total angular momentum about the origin.

    Args:
        positions, velocities: (..., n, d).
        masses: (n,).

    Returns:
        The angular momentum, (...) in the plane and (..., 3) in space.

    >>> float(angular_momentum(np.array([[2.0, 0.0]]), np.array([[0.0, 3.0]]), [1.0]))
    6.0
    """
    x, v = np.moveaxis(positions, -1, 0), np.moveaxis(velocities, -1, 0)
    if len(x) == 2:
        return np.sum(masses * (x[0] * v[1] - x[1] * v[0]), axis=-1)
    parts = [x[1] * v[2] - x[2] * v[1], x[2] * v[0] - x[0] * v[2], x[0] * v[1] - x[1] * v[0]]
    return np.stack([np.sum(masses * part, axis=-1) for part in parts], axis=-1)


def centre_of_mass(positions: NDArray[Any], masses: Any) -> NDArray[Any]:
    """Return the centre of mass.

    Args:
        positions: (..., n, d).
        masses: (n,).

    Returns:
        Its position, (..., d).

    >>> centre_of_mass(np.array([[0.0, 0.0], [4.0, 0.0]]), [1.0, 3.0]).tolist()
    [3.0, 0.0]
    """
    masses = np.asarray(masses)
    return np.sum(masses[:, None] * positions, axis=-2) / np.sum(masses)


def kepler_orbit(t: Any, semi_major_axis: Any = 1.0, eccentricity: Any = 0.0, mu: Any = 1.0) -> Any:
    """Return position and velocity on an elliptic orbit about a centre of attraction at the origin.

    Kepler's equation E - e sin E = M is solved by Newton's method. The last iteration starts from the solution, so that
    the derivative is exact.

    Args:
        t: (...) times since the passage of the pericentre, which lies on the positive x axis; motion is anticlockwise.
        semi_major_axis: a length.
        eccentricity: 0 <= e < 1.
        mu: G (m1 + m2).

    Returns:
        Position and velocity, both (..., 2).

    Raises:
        BadInput: the eccentricity is out of range.

    Source: J. M. A. Danby, Celestial Mech. 40 (1987) 303, for the initial guess.

    >>> position, velocity = kepler_orbit(np.pi, eccentricity=0.6)
    >>> position.round(12).tolist(), velocity.round(12).tolist()
    ([-1.6, 0.0], [-0.0, -0.5])
    """
    if not np.all((0 <= np.asarray(eccentricity)) & (np.asarray(eccentricity) < 1)):
        raise BadInput(f"eccentricity = {eccentricity!r}; an ellipse has 0 <= e < 1")
    motion = np.sqrt(mu / semi_major_axis**3)
    mean = motion * t
    turns = 2 * pi * np.round(mean / (2 * pi))
    mean = mean - turns
    anomaly = mean + 0.85 * eccentricity * np.sign(np.sin(mean))
    for _ in range(12):
        excess = anomaly - eccentricity * np.sin(anomaly) - mean
        anomaly = anomaly - excess / (1 - eccentricity * np.cos(anomaly))
    sine, cosine = np.sin(anomaly), np.cos(anomaly)
    ratio = np.sqrt(1 - eccentricity**2)
    speed = motion * semi_major_axis / (1 - eccentricity * cosine)
    position = np.stack([semi_major_axis * (cosine - eccentricity), semi_major_axis * ratio * sine], axis=-1)
    return position, np.stack([-speed * sine, speed * ratio * cosine], axis=-1)


def figure_eight() -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64], float]:
    """Return the initial state of three equal masses that follow each other on a figure-eight orbit, for G = 1.

    Returns:
        Positions (3, 2), velocities (3, 2), masses (3,) and the period.

    Source: A. Chenciner, R. Montgomery, Annals of Mathematics 152 (2000) 881; the digits are C. Simo's.

    >>> positions, velocities, masses, period = figure_eight()
    >>> momentum(velocities, masses).tolist()
    [0.0, 0.0]
    """
    first, third = np.array([0.97000436, -0.24308753]), np.array([-0.93240737, -0.86473146])
    positions = np.stack([first, -first, np.zeros(2)])
    return positions, np.stack([-third / 2, -third / 2, third]), np.ones(3), 6.32591398
