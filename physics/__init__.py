"""Simulators in plain NumPy, with their conserved quantities.

``pendulum`` and ``nbody`` have the equations of motion for ``ode.odesolve``, the accelerations, and closed-form
solutions for comparison. ``ode.symplectic`` integrates q'' = a(q) without drift of the energy.
"""

from .nbody import (
    NEWTON,
    SOLAR_GRAVITATION,
    angular_momentum,
    centre_of_mass,
    figure_eight,
    gravity,
    kepler_orbit,
    momentum,
    nbody_energy,
    nbody_ode,
)
from .pendulum import (
    STANDARD_GRAVITY,
    double_pendulum_energy,
    double_pendulum_ode,
    pendulum_acceleration,
    pendulum_energy,
    pendulum_ode,
    pendulum_period,
    small_swing_period,
)

__all__ = [
    "NEWTON",
    "SOLAR_GRAVITATION",
    "STANDARD_GRAVITY",
    "angular_momentum",
    "centre_of_mass",
    "double_pendulum_ode",
    "double_pendulum_energy",
    "nbody_energy",
    "figure_eight",
    "gravity",
    "kepler_orbit",
    "momentum",
    "nbody_ode",
    "pendulum_ode",
    "pendulum_acceleration",
    "pendulum_energy",
    "pendulum_period",
    "small_swing_period",
]


def __dir__() -> list[str]:
    return sorted(__all__)
