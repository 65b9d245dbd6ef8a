"""The plane pendulum, single and double: equations of motion, energy, and the exact period.

Angles are in radians from the lowest point; lengths, masses and g in any consistent units (SI: m, kg, m/s^2, s).
"""

from __future__ import annotations

from math import pi, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core import BadInput

STANDARD_GRAVITY = 9.80665
"""Standard acceleration of free fall, m/s^2 (3rd CGPM, 1901)."""


def pendulum_acceleration(angle: Any, length: Any = 1.0, gravity: Any = STANDARD_GRAVITY) -> Any:
    """Return the angular acceleration -g/l sin(angle), for ``symplectic``.

    Args:
        angle: in radians; a number or an array.
        length: of the pendulum, in m.
        gravity: g in m/s^2.

    Returns:
        The angular acceleration in 1/s^2, of the shape of ``angle``.

    >>> float(pendulum_acceleration(np.pi / 2, length=2.0, gravity=10.0))
    -5.0
    """
    return -gravity / length * np.sin(angle)


def pendulum_ode(
    t: float, state: NDArray[Any], length: Any = 1.0, gravity: Any = STANDARD_GRAVITY, damping: Any = 0.0
) -> NDArray[Any]:
    """Return the time derivative of a pendulum's state, for ``odesolve``: angle'' = -g/l sin(angle) - damping angle'.

    Args:
        t: the time, which has no influence.
        state: [angle, angular velocity], in radians and 1/s.
        length: of the pendulum, in m.
        gravity: g in m/s^2.
        damping: in 1/s.

    Returns:
        [angular velocity, angular acceleration].

    >>> from morula.ode import odesolve
    >>> swing = odesolve(pendulum_ode, np.array([0.1, 0.0]), [0.0, pendulum_period(0.1, 1.0)], 1.0, rtol=1e-10)
    >>> bool(np.allclose(swing.y[-1], [0.1, 0.0], atol=1e-7))
    True
    """
    angle, rate = state[0], state[1]
    return np.stack([rate, -gravity / length * np.sin(angle) - damping * rate])


def pendulum_energy(angle: Any, rate: Any, length: Any = 1.0, gravity: Any = STANDARD_GRAVITY, mass: Any = 1.0) -> Any:
    """Return the kinetic plus potential energy, zero at rest at the lowest point.

    Args:
        angle, rate: the angle in radians and the angular velocity in 1/s.
        length, gravity, mass: in m, m/s^2 and kg.

    Returns:
        The energy in J.

    >>> float(pendulum_energy(0.0, 2.0, length=3.0, mass=0.5))
    9.0
    """
    return mass * length * (0.5 * length * rate**2 + gravity * (1 - np.cos(angle)))


def pendulum_period(amplitude: Any, length: Any = 1.0, gravity: Any = STANDARD_GRAVITY) -> Any:
    """Return the exact period of a pendulum that swings between -amplitude and amplitude.

    T = 2 pi sqrt(l/g) / agm(1, cos(amplitude / 2)): the arithmetic-geometric mean of Gauss gives the elliptic integral
    4 K(k) with k = sin(amplitude / 2), and converges quadratically.

    Args:
        amplitude: in radians, |amplitude| < pi.
        length: of the pendulum, in m.
        gravity: g in m/s^2.

    Returns:
        The period in s.

    Raises:
        BadInput: the amplitude is pi or more, from where the pendulum does not swing back.

    Source: D. A. Cox, L'Enseignement Math. 30 (1984) 275.

    >>> round(float(pendulum_period(np.pi / 2, 1.0) / pendulum_period(1e-9, 1.0)), 6)
    1.180341
    """
    if not np.all(np.abs(amplitude) < pi):
        raise BadInput(f"amplitude = {amplitude!r}; it must lie between -pi and pi, in radians")
    a, b = 1.0, np.cos(amplitude / 2)
    for _ in range(9):
        a, b = (a + b) / 2, np.sqrt(a * b)
    return 2 * pi * np.sqrt(length / gravity) / a


def double_pendulum_ode(
    t: float,
    state: NDArray[Any],
    masses: tuple[Any, Any] = (1.0, 1.0),
    lengths: tuple[Any, Any] = (1.0, 1.0),
    gravity: Any = STANDARD_GRAVITY,
) -> NDArray[Any]:
    """Return the time derivative of a double pendulum's state, for ``odesolve``; the second mass hangs from the first.

    Args:
        t: the time, which has no influence.
        state: [angle 1, angle 2, rate 1, rate 2], in radians and 1/s.
        masses, lengths: two each, in kg and m.
        gravity: g in m/s^2.

    Returns:
        [rate 1, rate 2, acceleration 1, acceleration 2], from the Lagrange equations.

    Source: L. D. Landau, E. M. Lifshitz, Mechanics, section 5.

    >>> bool(double_pendulum_ode(0.0, np.zeros(4)).any())
    False
    """
    angle1, angle2, rate1, rate2 = state[0], state[1], state[2], state[3]
    (m1, m2), (l1, l2) = masses, lengths
    s, c = np.sin(angle1 - angle2), np.cos(angle1 - angle2)
    torque1 = -m2 * l2 * rate2**2 * s - (m1 + m2) * gravity * np.sin(angle1)
    torque2 = l1 * rate1**2 * s - gravity * np.sin(angle2)
    share = m1 + m2 * s * s
    return np.stack([
        rate1,
        rate2,
        (torque1 - m2 * c * torque2) / (l1 * share),
        ((m1 + m2) * torque2 - c * torque1) / (l2 * share),
    ])  # fmt: skip


def double_pendulum_energy(
    state: NDArray[Any],
    masses: tuple[Any, Any] = (1.0, 1.0),
    lengths: tuple[Any, Any] = (1.0, 1.0),
    gravity: Any = STANDARD_GRAVITY,
) -> Any:
    """Return the kinetic plus potential energy of a double pendulum, zero at rest at the lowest point.

    Args:
        state: (..., 4), the last axis as for ``double_pendulum_ode``.
        masses, lengths, gravity: as for ``double_pendulum_ode``.

    Returns:
        The energy in J, of shape (...).

    >>> float(double_pendulum_energy(np.zeros(4)))
    0.0
    """
    angle1, angle2, rate1, rate2 = (state[..., i] for i in range(4))
    (m1, m2), (l1, l2) = masses, lengths
    kinetic = 0.5 * (m1 + m2) * (l1 * rate1) ** 2 + 0.5 * m2 * (l2 * rate2) ** 2
    kinetic = kinetic + m2 * l1 * l2 * rate1 * rate2 * np.cos(angle1 - angle2)
    height1, height2 = l1 * (1 - np.cos(angle1)), l2 * (1 - np.cos(angle2))
    return kinetic + gravity * ((m1 + m2) * height1 + m2 * height2)


def small_swing_period(length: float = 1.0, gravity: float = STANDARD_GRAVITY) -> float:
    """Return 2 pi sqrt(l/g), the limit of ``pendulum_period`` for small amplitudes.

    Args:
        length: of the pendulum, in m.
        gravity: g in m/s^2.

    Returns:
        The period in s.

    >>> round(small_swing_period(0.2485), 3)
    1.0
    """
    return 2 * pi * sqrt(length / gravity)
