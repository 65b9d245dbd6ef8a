"""Programs that call a solver of differential equations: morula's, compared with Diffrax's.

Each solver, also the hand-written one, takes different steps, so results agree to the requested tolerance.
"""

from __future__ import annotations

import diffrax
import jax.numpy as jnp
import numpy as np

from morula.ode import odesolve

from ..program import Program
from .trajectories import _prey_by_hand, prey_rate

TOLERANCE = 1e-6


def rate(t, y, p):
    return np.array([y[0] * (p[0] - p[1] * y[1]), y[1] * (p[3] * y[0] - p[2])])


def predator_and_prey(end, y0, p):
    y = odesolve(rate, y0, [0.0, end], p, rtol=TOLERANCE, atol=TOLERANCE).y[-1]
    return y[0] + 2.0 * y[1]


def _inputs(end):
    return float(end), np.array([1.0, 1.0]), np.array([1.5, 1.0, 3.0, 1.0])


def _by_hand(end, y0, p):
    loss, d = _prey_by_hand(end, TOLERANCE, *y0, *p)
    return loss, (np.array(d[:2]), np.array(d[2:]))


def _in_diffrax(end, y0, p):
    solution = diffrax.diffeqsolve(
        diffrax.ODETerm(lambda t, y, p: jnp.stack(prey_rate(*y, *p))),
        diffrax.Tsit5(),
        t0=0.0,
        t1=end,
        dt0=None,
        y0=y0,
        args=p,
        stepsize_controller=diffrax.PIDController(rtol=TOLERANCE, atol=TOLERANCE),
    )
    assert solution.ys is not None
    return solution.ys[-1, 0] + 2.0 * solution.ys[-1, 1]


PROGRAMS = (Program("odesolve", predator_and_prey, _inputs, 10, 2, (1, 2), _by_hand, _in_diffrax, rtol=1e-3),)
