"""Gradients through the solver agree to 1e-8 with forward sensitivities that SciPy solves, for the published problems."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import morula as mo
from morula.ode import odesolve

from .problems import PUBLISHED, STIFF, published

SPANS = {
    "lotka": 1.0,
    "brusselator0": 1.0,
    "rigidbody": 2.0,
    "fitzhugh": 2.0,
    "vdpol@mu1": 1.0,
    "lorenz": 0.3,
    "arenstorf": 0.02,
    "pleiades": 0.1,
    "rober": 0.1,
}
"""Parts of the spans in which a solve takes few steps: by the tolerances here, the whole ones would take minutes in plain Python."""


@pytest.mark.parametrize("name", [name for name in SPANS if name in PUBLISHED or name in STIFF])
def test_gradients_agree_with_forward_sensitivities(name):
    f, y0, (t0, _), args, _ = published(name)
    rng, n = np.random.default_rng(1), len(y0)
    weights = rng.normal(size=n)
    moves = [rng.normal(size=np.shape(a)) * a for a in (y0, *args)]  # one direction for y0 and all parameters
    span = (t0, t0 + SPANS[name])
    is_stiff = name in STIFF

    def slope(t, v):
        dy, ds = mo.jvp(lambda y, *args: f(t, y, *args), (v[:n], *args), (v[n:], *moves[1:]))
        return np.concatenate([dy, ds])

    way = {"method": "Radau", "rtol": 1e-11} if is_stiff else {"method": "DOP853", "rtol": 1e-12}
    sensitivities = solve_ivp(slope, span, np.concatenate([y0, moves[0]]), atol=1e-14, **way).y[n:, -1]

    def loss(y0, *args):
        chosen = "radau9" if is_stiff else "dop853"
        return np.dot(weights, odesolve(f, y0, span, *args, method=chosen, rtol=1e-10, atol=1e-13).y[-1])

    found = sum(np.sum(g * m) for g, m in zip(mo.gradient(loss, y0, *args), moves))
    expected = np.dot(weights, sensitivities)
    assert abs(found - expected) < 1e-8 * max(abs(expected), np.max(np.abs(sensitivities)))
