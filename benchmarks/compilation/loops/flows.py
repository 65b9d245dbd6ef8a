"""Flow in a cavity under a moving lid: momentum by explicit steps, pressure by sweeps of a Poisson equation.

Source: L. A. Barba, G. F. Forsyth, CFD Python: the 12 steps to Navier-Stokes equations (2018), step 11.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from numba import njit

from ..program import Program

RHO, NU = 1.0, 0.1


def build_up_b(b, rho, dt, u, v, dx, dy):
    b[1:-1, 1:-1] = rho * (
        1 / dt * ((u[1:-1, 2:] - u[1:-1, 0:-2]) / (2 * dx) + (v[2:, 1:-1] - v[0:-2, 1:-1]) / (2 * dy))
        - ((u[1:-1, 2:] - u[1:-1, 0:-2]) / (2 * dx)) ** 2
        - 2 * ((u[2:, 1:-1] - u[0:-2, 1:-1]) / (2 * dy) * (v[1:-1, 2:] - v[1:-1, 0:-2]) / (2 * dx))
        - ((v[2:, 1:-1] - v[0:-2, 1:-1]) / (2 * dy)) ** 2
    )


def pressure_poisson(nit, p, dx, dy, b):
    pn = np.empty_like(p)
    for _ in range(nit):
        pn[:] = p.copy()
        p[1:-1, 1:-1] = ((pn[1:-1, 2:] + pn[1:-1, 0:-2]) * dy**2 + (pn[2:, 1:-1] + pn[0:-2, 1:-1]) * dx**2) / (
            2 * (dx**2 + dy**2)
        ) - dx**2 * dy**2 / (2 * (dx**2 + dy**2)) * b[1:-1, 1:-1]

        p[:, -1] = p[:, -2]  # dp/dx = 0 at x = 2
        p[0, :] = p[1, :]  # dp/dy = 0 at y = 0
        p[:, 0] = p[:, 1]  # dp/dx = 0 at x = 0
        p[-1, :] = 0  # p = 0 at y = 2


def cavity_flow(nt, nit, u, v, p, w):
    u, v, p = u.copy(), v.copy(), p.copy()
    ny, nx = p.shape
    dx, dy = 2 / (nx - 1), 2 / (ny - 1)
    dt = 0.1 * dx * dy / NU
    b = np.zeros((ny, nx))
    for _ in range(nt):
        un = u.copy()
        vn = v.copy()
        build_up_b(b, RHO, dt, u, v, dx, dy)
        pressure_poisson(nit, p, dx, dy, b)

        u[1:-1, 1:-1] = (
            un[1:-1, 1:-1]
            - un[1:-1, 1:-1] * dt / dx * (un[1:-1, 1:-1] - un[1:-1, 0:-2])
            - vn[1:-1, 1:-1] * dt / dy * (un[1:-1, 1:-1] - un[0:-2, 1:-1])
            - dt / (2 * RHO * dx) * (p[1:-1, 2:] - p[1:-1, 0:-2])
            + NU
            * (
                dt / dx**2 * (un[1:-1, 2:] - 2 * un[1:-1, 1:-1] + un[1:-1, 0:-2])
                + dt / dy**2 * (un[2:, 1:-1] - 2 * un[1:-1, 1:-1] + un[0:-2, 1:-1])
            )
        )
        v[1:-1, 1:-1] = (
            vn[1:-1, 1:-1]
            - un[1:-1, 1:-1] * dt / dx * (vn[1:-1, 1:-1] - vn[1:-1, 0:-2])
            - vn[1:-1, 1:-1] * dt / dy * (vn[1:-1, 1:-1] - vn[0:-2, 1:-1])
            - dt / (2 * RHO * dy) * (p[2:, 1:-1] - p[0:-2, 1:-1])
            + NU
            * (
                dt / dx**2 * (vn[1:-1, 2:] - 2 * vn[1:-1, 1:-1] + vn[1:-1, 0:-2])
                + dt / dy**2 * (vn[2:, 1:-1] - 2 * vn[1:-1, 1:-1] + vn[0:-2, 1:-1])
            )
        )

        u[0, :] = 0
        u[:, 0] = 0
        u[:, -1] = 0
        u[-1, :] = 1  # the lid
        v[0, :] = 0
        v[-1, :] = 0
        v[:, 0] = 0
        v[:, -1] = 0
    return np.sum(u * w) + np.sum(v * w) + np.sum(p * w)


def _inputs(size):
    n, nt, nit = size
    rng = np.random.default_rng(12)
    return nt, nit, *(0.1 * rng.normal(size=(n, n)) for _ in range(3)), rng.normal(size=(n, n))


@njit(fastmath=True, error_model="numpy")
def _by_hand(nt, nit, u, v, p, w):
    """Velocities are kept for each step; pressure enters linearly, and is not.

    The sweeps' transpose is a sweep too, on cotangents whose edges are folded into the inside.
    """
    ny, nx = p.shape
    dx, dy = 2 / (nx - 1), 2 / (ny - 1)
    dt = 0.1 * dx * dy / NU
    along, across = dy**2 / (2 * (dx**2 + dy**2)), dx**2 / (2 * (dx**2 + dy**2))
    source = dx**2 * dy**2 / (2 * (dx**2 + dy**2))
    cx, cy, sx, sy = dt / dx, dt / dy, NU * dt / dx**2, NU * dt / dy**2
    gx, gy = dt / (2 * RHO * dx), dt / (2 * RHO * dy)
    rx, ry = 1 / (2 * dx), 1 / (2 * dy)

    us, vs = np.empty((nt + 1, ny, nx)), np.empty((nt + 1, ny, nx))
    us[0], vs[0] = u, v
    p, q, b = p.copy(), np.empty((ny, nx)), np.empty((ny, nx))
    for s in range(nt):
        u, v, u1, v1 = us[s], vs[s], us[s + 1], vs[s + 1]
        for i in range(1, ny - 1):
            ua, uo, ub, va, vo, vb, out = u[i - 1], u[i], u[i + 1], v[i - 1], v[i], v[i + 1], b[i]
            for j in range(1, nx - 1):
                ux, vy = (uo[j + 1] - uo[j - 1]) * rx, (vb[j] - va[j]) * ry
                uy, vx = (ub[j] - ua[j]) * ry, (vo[j + 1] - vo[j - 1]) * rx
                out[j] = source * RHO * ((ux + vy) / dt - ux * ux - 2 * uy * vx - vy * vy)
        for _ in range(nit):
            p, q = q, p
            for i in range(1, ny - 1):
                above, at, below, known, out = q[i - 1], q[i], q[i + 1], b[i], p[i]
                for j in range(1, nx - 1):
                    out[j] = along * (at[j + 1] + at[j - 1]) + across * (below[j] + above[j]) - known[j]
                out[nx - 1] = out[nx - 2]
                out[0] = out[1]
            p[0] = p[1]
            p[ny - 1] = 0.0
        for i in range(1, ny - 1):
            ua, uo, ub, va, vo, vb = u[i - 1], u[i], u[i + 1], v[i - 1], v[i], v[i + 1]
            pa, po, pb, uout, vout = p[i - 1], p[i], p[i + 1], u1[i], v1[i]
            for j in range(1, nx - 1):
                uc, vc = uo[j], vo[j]
                uout[j] = (
                    uc * (1.0 - cx * (uc - uo[j - 1]))
                    - vc * cy * (uc - ua[j])
                    - gx * (po[j + 1] - po[j - 1])
                    + sx * (uo[j + 1] - 2 * uc + uo[j - 1])
                    + sy * (ub[j] - 2 * uc + ua[j])
                )
                vout[j] = (
                    vc
                    - uc * cx * (vc - vo[j - 1])
                    - vc * cy * (vc - va[j])
                    - gy * (pb[j] - pa[j])
                    + sx * (vo[j + 1] - 2 * vc + vo[j - 1])
                    + sy * (vb[j] - 2 * vc + va[j])
                )
            uout[0] = uout[nx - 1] = vout[0] = vout[nx - 1] = 0.0
        u1[0] = v1[0] = v1[ny - 1] = 0.0
        u1[ny - 1] = 1.0

    loss = 0.0
    u, v = us[nt], vs[nt]
    for i in range(ny):
        for j in range(nx):
            loss += (u[i, j] + v[i, j] + p[i, j]) * w[i, j]

    du, dv, dp = w.copy(), w.copy(), w.copy()
    hu, hv, dq, db = np.empty((ny, nx)), np.empty((ny, nx)), np.zeros((ny, nx)), np.empty((ny, nx))
    for s in range(nt - 1, -1, -1):
        u, v = us[s], vs[s]
        hu, du, hv, dv = du, hu, dv, hv
        _clear_edges(hu)
        _clear_edges(hv)
        du[:] = 0.0
        dv[:] = 0.0
        for i in range(1, ny - 1):
            uo, vo, ua, va, ho, ko = u[i], v[i], u[i - 1], v[i - 1], hu[i], hv[i]
            hua, hub, hva, hvb = hu[i - 1], hu[i + 1], hv[i - 1], hv[i + 1]
            ub, vb, pout = u[i + 1], v[i + 1], dp[i]
            uout, vout = du[i], dv[i]
            for j in range(1, nx - 1):
                uc, vc, h, k = uo[j], vo[j], ho[j], ko[j]
                uout[j] += (
                    h * (1.0 - cx * (2 * uc - uo[j - 1]) - cy * vc - 2 * sx - 2 * sy)
                    - k * cx * (vc - vo[j - 1])
                    + ho[j + 1] * (cx * uo[j + 1] + sx)
                    + sx * ho[j - 1]
                    + hub[j] * (cy * vb[j] + sy)
                    + sy * hua[j]
                )
                vout[j] += (
                    k * (1.0 - cx * uc - cy * (2 * vc - va[j]) - 2 * sx - 2 * sy)
                    - h * cy * (uc - ua[j])
                    + ko[j + 1] * (cx * uo[j + 1] + sx)
                    + sx * ko[j - 1]
                    + hvb[j] * (cy * vb[j] + sy)
                    + sy * hva[j]
                )
                pout[j] += gx * (ho[j + 1] - ho[j - 1]) + gy * (hvb[j] - hva[j])
            _momentum_at_ends(uout, vout, pout, uo, vo, ho, ko, cx, sx, gx, nx)
        for j in range(1, nx - 1):
            for edge, inside, sign in ((0, 1, 1.0), (ny - 1, ny - 2, 0.0)):
                du[edge, j] += hu[inside, j] * (sy + sign * cy * v[inside, j])
                dv[edge, j] += hv[inside, j] * (sy + sign * cy * v[inside, j])
            dp[0, j] += gy * hv[1, j]
            dp[ny - 1, j] -= gy * hv[ny - 2, j]
        db[:] = 0.0
        for _ in range(nit):
            dp[ny - 1] = 0.0
            for i in range(ny):
                dp[i, 1] += dp[i, 0]
                dp[i, 0] = 0.0
            for j in range(nx):
                dp[1, j] += dp[0, j]
                dp[0, j] = 0.0
            for i in range(ny):
                dp[i, nx - 2] += dp[i, nx - 1]
                dp[i, nx - 1] = 0.0
            dp, dq = dq, dp
            for i in range(1, ny - 1):
                above, at, below, known, out = dq[i - 1], dq[i], dq[i + 1], db[i], dp[i]
                for j in range(1, nx - 1):
                    out[j] = along * (at[j + 1] + at[j - 1]) + across * (below[j] + above[j])
                    known[j] -= at[j]
                out[0] = along * at[1]
                out[nx - 1] = along * at[nx - 2]
            for j in range(nx):
                dp[0, j] = across * dq[1, j]
                dp[ny - 1, j] = across * dq[ny - 2, j]
        for i in range(1, ny - 1):
            ua, uo, ub, va, vo, vb, known = u[i - 1], u[i], u[i + 1], v[i - 1], v[i], v[i + 1], db[i]
            dua, duo, dub, dva, dvo, dvb = du[i - 1], du[i], du[i + 1], dv[i - 1], dv[i], dv[i + 1]
            for j in range(1, nx - 1):
                d = source * RHO * known[j]
                ux, vy = (uo[j + 1] - uo[j - 1]) * rx, (vb[j] - va[j]) * ry
                uy, vx = (ub[j] - ua[j]) * ry, (vo[j + 1] - vo[j - 1]) * rx
                dux, dvy = d * (1 / dt - 2 * ux) * rx, d * (1 / dt - 2 * vy) * ry
                duy, dvx = -2 * d * vx * ry, -2 * d * uy * rx
                duo[j + 1] += dux
                duo[j - 1] -= dux
                dub[j] += duy
                dua[j] -= duy
                dvo[j + 1] += dvx
                dvo[j - 1] -= dvx
                dvb[j] += dvy
                dva[j] -= dvy
    return loss, (du, dv, dp)


@njit
def _clear_edges(x):
    x[0] = x[-1] = 0.0
    x[:, 0] = x[:, -1] = 0.0


@njit(fastmath=True)
def _momentum_at_ends(du, dv, dp, u, v, h, k, cx, sx, gx, n):
    """What the step takes from the first and the last column of a row."""
    du[0] += h[1] * (cx * u[1] + sx)
    dv[0] += k[1] * (cx * u[1] + sx)
    du[n - 1] += sx * h[n - 2]
    dv[n - 1] += sx * k[n - 2]
    dp[0] += gx * h[1]
    dp[n - 1] -= gx * h[n - 2]


def _in_jax(nt, nit, u, v, p, w):
    """Planes at a time; the body of a time step is computed again on the way back."""
    ny, nx = p.shape
    dx, dy = 2 / (nx - 1), 2 / (ny - 1)
    dt = 0.1 * dx * dy / NU

    def momentum(f, u, v):
        at = f[1:-1, 1:-1]
        return (
            at
            - u[1:-1, 1:-1] * dt / dx * (at - f[1:-1, :-2])
            - v[1:-1, 1:-1] * dt / dy * (at - f[:-2, 1:-1])
            + NU * dt / dx**2 * (f[1:-1, 2:] - 2 * at + f[1:-1, :-2])
            + NU * dt / dy**2 * (f[2:, 1:-1] - 2 * at + f[:-2, 1:-1])
        )

    def step(carry, _):
        u, v, p = carry
        ux, vy = (u[1:-1, 2:] - u[1:-1, :-2]) / (2 * dx), (v[2:, 1:-1] - v[:-2, 1:-1]) / (2 * dy)
        uy, vx = (u[2:, 1:-1] - u[:-2, 1:-1]) / (2 * dy), (v[1:-1, 2:] - v[1:-1, :-2]) / (2 * dx)
        b = RHO * ((ux + vy) / dt - ux**2 - 2 * uy * vx - vy**2)

        def sweep(p, _):
            inner = (p[1:-1, 2:] + p[1:-1, :-2]) * dy**2 + (p[2:, 1:-1] + p[:-2, 1:-1]) * dx**2
            inner = (inner - dx**2 * dy**2 * b) / (2 * (dx**2 + dy**2))
            inner = jnp.concatenate([inner[:, :1], inner, inner[:, -1:]], 1)
            return jnp.concatenate([inner[:1], inner, jnp.zeros((1, nx))], 0), None

        p, _ = lax.scan(sweep, p, length=nit)
        u1 = momentum(u, u, v) - dt / (2 * RHO * dx) * (p[1:-1, 2:] - p[1:-1, :-2])
        v1 = momentum(v, u, v) - dt / (2 * RHO * dy) * (p[2:, 1:-1] - p[:-2, 1:-1])
        return (jnp.pad(u1, 1).at[-1].set(1.0), jnp.pad(v1, 1), p), None

    (u, v, p), _ = lax.scan(jax.checkpoint(step), (u, v, p), length=nt)
    return jnp.sum((u + v + p) * w)


PROGRAMS = (Program("cavity_flow", cavity_flow, _inputs, (81, 20, 50), (7, 2, 3), (2, 3, 4), _by_hand, _in_jax),)
