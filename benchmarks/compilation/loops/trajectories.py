"""Solvers of ordinary differential equations with scalar state, in ``while`` loops: fixed and adaptive steps."""

from __future__ import annotations

import math

import jax
import jax.numpy as jnp
import numpy as np
from equinox.internal import while_loop
from jax import lax
from numba import njit

from ..program import Program

# Lorenz' equations, classical Runge-Kutta


def lorenz_rate(x, y, z, sigma, rho, beta):
    return sigma * (y - x), x * (rho - z) - y, x * y - beta * z


def lorenz(steps, end, x, y, z, sigma, rho, beta):
    h = end / steps
    t = 0.0
    while t < end - 0.5 * h:
        ax, ay, az = lorenz_rate(x, y, z, sigma, rho, beta)
        bx, by, bz = lorenz_rate(x + 0.5 * h * ax, y + 0.5 * h * ay, z + 0.5 * h * az, sigma, rho, beta)
        cx, cy, cz = lorenz_rate(x + 0.5 * h * bx, y + 0.5 * h * by, z + 0.5 * h * bz, sigma, rho, beta)
        dx, dy, dz = lorenz_rate(x + h * cx, y + h * cy, z + h * cz, sigma, rho, beta)
        x += h / 6 * (ax + 2 * bx + 2 * cx + dx)
        y += h / 6 * (ay + 2 * by + 2 * cy + dy)
        z += h / 6 * (az + 2 * bz + 2 * cz + dz)
        t += h
    return x + 2.0 * y - z


def _lorenz_inputs(steps):
    return steps, min(5.0, 0.005 * steps), 1.0, 1.1, 20.0, 10.0, 28.0, 8.0 / 3.0


@njit(fastmath=True, error_model="numpy", inline="always")
def _pull(x, y, z, gx, gy, gz, sigma, rho, beta):
    return y * gz + (rho - z) * gy - sigma * gx, sigma * gx - gy + x * gz, -beta * gz - x * gy


_rate = njit(fastmath=True, error_model="numpy", inline="always")(lorenz_rate)


@njit(fastmath=True, error_model="numpy")
def _lorenz_by_hand(steps, end, x, y, z, sigma, rho, beta):
    """The state is kept for each step, the stages are computed again."""
    h = end / steps
    kept = np.empty((steps, 3))
    for s in range(steps):
        kept[s, 0], kept[s, 1], kept[s, 2] = x, y, z
        ax, ay, az = _rate(x, y, z, sigma, rho, beta)
        bx, by, bz = _rate(x + 0.5 * h * ax, y + 0.5 * h * ay, z + 0.5 * h * az, sigma, rho, beta)
        cx, cy, cz = _rate(x + 0.5 * h * bx, y + 0.5 * h * by, z + 0.5 * h * bz, sigma, rho, beta)
        dx, dy, dz = _rate(x + h * cx, y + h * cy, z + h * cz, sigma, rho, beta)
        x += h / 6 * (ax + 2 * bx + 2 * cx + dx)
        y += h / 6 * (ay + 2 * by + 2 * cy + dy)
        z += h / 6 * (az + 2 * bz + 2 * cz + dz)
    loss = x + 2.0 * y - z
    gx, gy, gz = 1.0, 2.0, -1.0
    gsigma = grho = gbeta = 0.0
    for s in range(steps - 1, -1, -1):
        x, y, z = kept[s, 0], kept[s, 1], kept[s, 2]
        ax, ay, az = _rate(x, y, z, sigma, rho, beta)
        bx, by, bz = x + 0.5 * h * ax, y + 0.5 * h * ay, z + 0.5 * h * az
        ax, ay, az = _rate(bx, by, bz, sigma, rho, beta)
        cx, cy, cz = x + 0.5 * h * ax, y + 0.5 * h * ay, z + 0.5 * h * az
        ax, ay, az = _rate(cx, cy, cz, sigma, rho, beta)
        dx, dy, dz = x + h * ax, y + h * ay, z + h * az
        # (u, v, w): the cotangent of a stage's rate; (p, q, r): of the point it was evaluated at
        u, v, w = h / 6 * gx, h / 6 * gy, h / 6 * gz
        gsigma += u * (dy - dx)
        grho += v * dx
        gbeta -= w * dz
        p, q, r = _pull(dx, dy, dz, u, v, w, sigma, rho, beta)
        sx, sy, sz = gx + p, gy + q, gz + r
        u, v, w = h / 3 * gx + h * p, h / 3 * gy + h * q, h / 3 * gz + h * r
        gsigma += u * (cy - cx)
        grho += v * cx
        gbeta -= w * cz
        p, q, r = _pull(cx, cy, cz, u, v, w, sigma, rho, beta)
        sx, sy, sz = sx + p, sy + q, sz + r
        u, v, w = h / 3 * gx + 0.5 * h * p, h / 3 * gy + 0.5 * h * q, h / 3 * gz + 0.5 * h * r
        gsigma += u * (by - bx)
        grho += v * bx
        gbeta -= w * bz
        p, q, r = _pull(bx, by, bz, u, v, w, sigma, rho, beta)
        sx, sy, sz = sx + p, sy + q, sz + r
        u, v, w = h / 6 * gx + 0.5 * h * p, h / 6 * gy + 0.5 * h * q, h / 6 * gz + 0.5 * h * r
        gsigma += u * (y - x)
        grho += v * x
        gbeta -= w * z
        p, q, r = _pull(x, y, z, u, v, w, sigma, rho, beta)
        gx, gy, gz = sx + p, sy + q, sz + r
    return loss, (gx, gy, gz, gsigma, grho, gbeta)


def _lorenz_step(h, state, parameters):
    def moved(by, k):
        return tuple(s + by * d for s, d in zip(state, k))

    a = lorenz_rate(*state, *parameters)
    b = lorenz_rate(*moved(0.5 * h, a), *parameters)
    c = lorenz_rate(*moved(0.5 * h, b), *parameters)
    d = lorenz_rate(*moved(h, c), *parameters)
    return tuple(s + h / 6 * (p + 2 * q + 2 * r + t) for s, p, q, r, t in zip(state, a, b, c, d))


def _lorenz_in_jax(steps, end, x, y, z, sigma, rho, beta, keep=jax.checkpoint):
    """The number of steps is known; only the state is kept."""

    @keep
    def step(state, _):
        return _lorenz_step(end / steps, state, (sigma, rho, beta)), None

    (x, y, z), _ = lax.scan(step, (x, y, z), length=steps)
    return x + 2.0 * y - z


def _lorenz_literally(steps, end, *state_and_parameters):
    return _lorenz_in_jax(steps, end, *state_and_parameters, keep=lambda step: step)


# Predator and prey, Dormand-Prince's pair of orders 5 and 4 with control of the step


def prey_rate(u, v, a, b, c, d):
    return u * (a - b * v), v * (d * u - c)


def dormand_prince(end, rtol, u, v, a, b, c, d):
    t = 0.0
    h = 0.01
    while t < end:
        h = min(h, end - t)
        k1, l1 = prey_rate(u, v, a, b, c, d)
        k2, l2 = prey_rate(u + h * (k1 / 5), v + h * (l1 / 5), a, b, c, d)
        k3, l3 = prey_rate(u + h * (3 / 40 * k1 + 9 / 40 * k2), v + h * (3 / 40 * l1 + 9 / 40 * l2), a, b, c, d)
        k4, l4 = prey_rate(
            u + h * (44 / 45 * k1 - 56 / 15 * k2 + 32 / 9 * k3),
            v + h * (44 / 45 * l1 - 56 / 15 * l2 + 32 / 9 * l3),
            a, b, c, d,
        )  # fmt: skip
        k5, l5 = prey_rate(
            u + h * (19372 / 6561 * k1 - 25360 / 2187 * k2 + 64448 / 6561 * k3 - 212 / 729 * k4),
            v + h * (19372 / 6561 * l1 - 25360 / 2187 * l2 + 64448 / 6561 * l3 - 212 / 729 * l4),
            a, b, c, d,
        )  # fmt: skip
        k6, l6 = prey_rate(
            u + h * (9017 / 3168 * k1 - 355 / 33 * k2 + 46732 / 5247 * k3 + 49 / 176 * k4 - 5103 / 18656 * k5),
            v + h * (9017 / 3168 * l1 - 355 / 33 * l2 + 46732 / 5247 * l3 + 49 / 176 * l4 - 5103 / 18656 * l5),
            a, b, c, d,
        )  # fmt: skip
        u_new = u + h * (35 / 384 * k1 + 500 / 1113 * k3 + 125 / 192 * k4 - 2187 / 6784 * k5 + 11 / 84 * k6)
        v_new = v + h * (35 / 384 * l1 + 500 / 1113 * l3 + 125 / 192 * l4 - 2187 / 6784 * l5 + 11 / 84 * l6)
        k7, l7 = prey_rate(u_new, v_new, a, b, c, d)
        e = h * (71 / 57600 * k1 - 71 / 16695 * k3 + 71 / 1920 * k4 - 17253 / 339200 * k5 + 22 / 525 * k6 - k7 / 40)
        f = h * (71 / 57600 * l1 - 71 / 16695 * l3 + 71 / 1920 * l4 - 17253 / 339200 * l5 + 22 / 525 * l6 - l7 / 40)
        e /= rtol * (1.0 + max(abs(u), abs(u_new)))
        f /= rtol * (1.0 + max(abs(v), abs(v_new)))
        error = math.sqrt(0.5 * (e * e + f * f))
        if error <= 1.0:
            t += h
            u, v = u_new, v_new
        h *= min(5.0, max(0.2, 0.9 * error**-0.2))
    return u + 2.0 * v


def _prey_inputs(end):
    return float(end), 1e-6, 1.0, 1.0, 1.5, 1.0, 3.0, 1.0


@njit(fastmath=True, error_model="numpy", inline="always")
def _stages(u, v, h, a, b, c, d):
    """The points at which the rates of the stages are taken, and the rates."""
    k1, l1 = u * (a - b * v), v * (d * u - c)
    u2, v2 = u + h * (k1 / 5), v + h * (l1 / 5)
    k2, l2 = u2 * (a - b * v2), v2 * (d * u2 - c)
    u3, v3 = u + h * (3 / 40 * k1 + 9 / 40 * k2), v + h * (3 / 40 * l1 + 9 / 40 * l2)
    k3, l3 = u3 * (a - b * v3), v3 * (d * u3 - c)
    u4 = u + h * (44 / 45 * k1 - 56 / 15 * k2 + 32 / 9 * k3)
    v4 = v + h * (44 / 45 * l1 - 56 / 15 * l2 + 32 / 9 * l3)
    k4, l4 = u4 * (a - b * v4), v4 * (d * u4 - c)
    u5 = u + h * (19372 / 6561 * k1 - 25360 / 2187 * k2 + 64448 / 6561 * k3 - 212 / 729 * k4)
    v5 = v + h * (19372 / 6561 * l1 - 25360 / 2187 * l2 + 64448 / 6561 * l3 - 212 / 729 * l4)
    k5, l5 = u5 * (a - b * v5), v5 * (d * u5 - c)
    u6 = u + h * (9017 / 3168 * k1 - 355 / 33 * k2 + 46732 / 5247 * k3 + 49 / 176 * k4 - 5103 / 18656 * k5)
    v6 = v + h * (9017 / 3168 * l1 - 355 / 33 * l2 + 46732 / 5247 * l3 + 49 / 176 * l4 - 5103 / 18656 * l5)
    k6, l6 = u6 * (a - b * v6), v6 * (d * u6 - c)
    u7 = u + h * (35 / 384 * k1 + 500 / 1113 * k3 + 125 / 192 * k4 - 2187 / 6784 * k5 + 11 / 84 * k6)
    v7 = v + h * (35 / 384 * l1 + 500 / 1113 * l3 + 125 / 192 * l4 - 2187 / 6784 * l5 + 11 / 84 * l6)
    k7, l7 = u7 * (a - b * v7), v7 * (d * u7 - c)
    return (
        (u2, u3, u4, u5, u6, u7),
        (v2, v3, v4, v5, v6, v7),
        (k1, k2, k3, k4, k5, k6, k7),
        (l1, l2, l3, l4, l5, l6, l7),
    )


@njit(fastmath=True, error_model="numpy", inline="always")
def _differences(k):
    """The two orders' difference, for each unit of step."""
    k1, _, k3, k4, k5, k6, k7 = k
    return 71 / 57600 * k1 - 71 / 16695 * k3 + 71 / 1920 * k4 - 17253 / 339200 * k5 + 22 / 525 * k6 - k7 / 40


@njit(fastmath=True, error_model="numpy", inline="always")
def _pull_prey(u, v, gk, gl, a, b, c, d):
    """From the cotangent of a rate that of its point."""
    return gk * (a - b * v) + gl * d * v, gl * (d * u - c) - gk * b * u


@njit(fastmath=True, error_model="numpy")
def _prey_forward(end, rtol, u, v, a, b, c, d):
    """The loss, and state, time and step for each try."""
    kept = np.empty((1024, 4))
    count, t, h = 0, 0.0, 0.01
    while t < end:
        if count == len(kept):
            longer = np.empty((2 * count, 4))
            longer[:count] = kept
            kept = longer
        kept[count, 0], kept[count, 1], kept[count, 2], kept[count, 3] = u, v, t, h
        count += 1
        h = min(h, end - t)
        us, vs, k, m = _stages(u, v, h, a, b, c, d)
        e = h * _differences(k) / (rtol * (1.0 + max(abs(u), abs(us[5]))))
        f = h * _differences(m) / (rtol * (1.0 + max(abs(v), abs(vs[5]))))
        error = math.sqrt(0.5 * (e * e + f * f))
        if error <= 1.0:
            t += h
            u, v = us[5], vs[5]
        h *= min(5.0, max(0.2, 0.9 * error**-0.2))
    return u + 2.0 * v, kept[:count]


@njit(fastmath=True, error_model="numpy")
def _prey_by_hand(end, rtol, u, v, a, b, c, d):
    """The stages are computed again; the control of the step is differentiated too."""
    loss, kept = _prey_forward(end, rtol, u, v, a, b, c, d)
    gu, gv, gt, gh = 1.0, 2.0, 0.0, 0.0
    ga = gb = gc = gd = 0.0
    for s in range(len(kept) - 1, -1, -1):
        u, v, t, h0 = kept[s, 0], kept[s, 1], kept[s, 2], kept[s, 3]
        h = min(h0, end - t)
        us, vs, k, m = _stages(u, v, h, a, b, c, d)
        u2, u3, u4, u5, u6, u7 = us
        v2, v3, v4, v5, v6, v7 = vs
        k1, k2, k3, k4, k5, k6, k7 = k
        l1, l2, l3, l4, l5, l6, l7 = m
        ek, el = _differences(k), _differences(m)
        su, sv = 1.0 / (rtol * (1.0 + max(abs(u), abs(u7)))), 1.0 / (rtol * (1.0 + max(abs(v), abs(v7))))
        e, f = h * ek * su, h * el * sv
        error = math.sqrt(0.5 * (e * e + f * f))
        raw = 0.9 * error**-0.2
        # the step
        g = gh * min(5.0, max(0.2, raw))
        gerror = gh * h * -0.2 * raw / error if 0.2 < raw < 5.0 else 0.0
        ge, gf = gerror * 0.5 * e / error, gerror * 0.5 * f / error
        gek, gel = ge * h * su, gf * h * sv
        g += ge * ek * su + gf * el * sv
        gsu, gsv = -ge * e * su * rtol, -gf * f * sv * rtol
        # the state: (x, y) the cotangent of the new one, (gu, gv) that of the old one
        if error <= 1.0:
            x, y, gu, gv = gu, gv, 0.0, 0.0
            g += gt
        else:
            x = y = 0.0
        if abs(u7) > abs(u):
            x += math.copysign(gsu, u7 * gsu)
        else:
            gu += math.copysign(gsu, u * gsu)
        if abs(v7) > abs(v):
            y += math.copysign(gsv, v7 * gsv)
        else:
            gv += math.copysign(gsv, v * gsv)
        # the stages, last one first: (p, q) the cotangent of a rate, (r, s) of its point, times h in (x, y)
        p, q = -gek / 40, -gel / 40
        ga += p * u7
        gb -= p * u7 * v7
        gc -= q * v7
        gd += q * u7 * v7
        r, w = _pull_prey(u7, v7, p, q, a, b, c, d)
        x, y = x + r, y + w
        gu, gv = gu + x, gv + y
        g += x * (35 / 384 * k1 + 500 / 1113 * k3 + 125 / 192 * k4 - 2187 / 6784 * k5 + 11 / 84 * k6)
        g += y * (35 / 384 * l1 + 500 / 1113 * l3 + 125 / 192 * l4 - 2187 / 6784 * l5 + 11 / 84 * l6)
        x, y = h * x, h * y
        p, q = 11 / 84 * x + 22 / 525 * gek, 11 / 84 * y + 22 / 525 * gel
        ga += p * u6
        gb -= p * u6 * v6
        gc -= q * v6
        gd += q * u6 * v6
        x6, y6 = _pull_prey(u6, v6, p, q, a, b, c, d)
        gu, gv = gu + x6, gv + y6
        g += x6 * (9017 / 3168 * k1 - 355 / 33 * k2 + 46732 / 5247 * k3 + 49 / 176 * k4 - 5103 / 18656 * k5)
        g += y6 * (9017 / 3168 * l1 - 355 / 33 * l2 + 46732 / 5247 * l3 + 49 / 176 * l4 - 5103 / 18656 * l5)
        x6, y6 = h * x6, h * y6
        p = -2187 / 6784 * x - 17253 / 339200 * gek - 5103 / 18656 * x6
        q = -2187 / 6784 * y - 17253 / 339200 * gel - 5103 / 18656 * y6
        ga += p * u5
        gb -= p * u5 * v5
        gc -= q * v5
        gd += q * u5 * v5
        x5, y5 = _pull_prey(u5, v5, p, q, a, b, c, d)
        gu, gv = gu + x5, gv + y5
        g += x5 * (19372 / 6561 * k1 - 25360 / 2187 * k2 + 64448 / 6561 * k3 - 212 / 729 * k4)
        g += y5 * (19372 / 6561 * l1 - 25360 / 2187 * l2 + 64448 / 6561 * l3 - 212 / 729 * l4)
        x5, y5 = h * x5, h * y5
        p = 125 / 192 * x + 71 / 1920 * gek + 49 / 176 * x6 - 212 / 729 * x5
        q = 125 / 192 * y + 71 / 1920 * gel + 49 / 176 * y6 - 212 / 729 * y5
        ga += p * u4
        gb -= p * u4 * v4
        gc -= q * v4
        gd += q * u4 * v4
        x4, y4 = _pull_prey(u4, v4, p, q, a, b, c, d)
        gu, gv = gu + x4, gv + y4
        g += x4 * (44 / 45 * k1 - 56 / 15 * k2 + 32 / 9 * k3) + y4 * (44 / 45 * l1 - 56 / 15 * l2 + 32 / 9 * l3)
        x4, y4 = h * x4, h * y4
        p = 500 / 1113 * x - 71 / 16695 * gek + 46732 / 5247 * x6 + 64448 / 6561 * x5 + 32 / 9 * x4
        q = 500 / 1113 * y - 71 / 16695 * gel + 46732 / 5247 * y6 + 64448 / 6561 * y5 + 32 / 9 * y4
        ga += p * u3
        gb -= p * u3 * v3
        gc -= q * v3
        gd += q * u3 * v3
        x3, y3 = _pull_prey(u3, v3, p, q, a, b, c, d)
        gu, gv = gu + x3, gv + y3
        g += x3 * (3 / 40 * k1 + 9 / 40 * k2) + y3 * (3 / 40 * l1 + 9 / 40 * l2)
        x3, y3 = h * x3, h * y3
        p = -355 / 33 * x6 - 25360 / 2187 * x5 - 56 / 15 * x4 + 9 / 40 * x3
        q = -355 / 33 * y6 - 25360 / 2187 * y5 - 56 / 15 * y4 + 9 / 40 * y3
        ga += p * u2
        gb -= p * u2 * v2
        gc -= q * v2
        gd += q * u2 * v2
        x2, y2 = _pull_prey(u2, v2, p, q, a, b, c, d)
        gu, gv = gu + x2, gv + y2
        g += x2 * k1 / 5 + y2 * l1 / 5
        p = 35 / 384 * x + 71 / 57600 * gek + 9017 / 3168 * x6 + 19372 / 6561 * x5 + 44 / 45 * x4 + 3 / 40 * x3
        q = 35 / 384 * y + 71 / 57600 * gel + 9017 / 3168 * y6 + 19372 / 6561 * y5 + 44 / 45 * y4 + 3 / 40 * y3
        p, q = p + h * x2 / 5, q + h * y2 / 5
        ga += p * u
        gb -= p * u * v
        gc -= q * v
        gd += q * u * v
        x1, y1 = _pull_prey(u, v, p, q, a, b, c, d)
        gu, gv = gu + x1, gv + y1
        if h0 <= end - t:
            gh = g
        else:
            gh = 0.0
            gt -= g
    return loss, (gu, gv, ga, gb, gc, gd)


_TABLEAU = (
    (1 / 5,),
    (3 / 40, 9 / 40),
    (44 / 45, -56 / 15, 32 / 9),
    (19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729),
    (9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656),
    (35 / 384, 0.0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84),
)
_ERROR = (71 / 57600, 0.0, -71 / 16695, 71 / 1920, -17253 / 339200, 22 / 525, -1 / 40)


def _prey_in_jax(end, rtol, u, v, a, b, c, d):
    """Equinox's loop with checkpoints: JAX's own ``while_loop`` has no reverse mode."""
    a, b, c, d = (jnp.asarray(p, float) for p in (a, b, c, d))

    def rate(y):
        return jnp.array([y[0] * (a - b * y[1]), y[1] * (d * y[0] - c)])

    def step(carry):
        y, t, h = carry
        h = jnp.minimum(h, end - t)
        rates, new = [rate(y)], y
        for row in _TABLEAU:
            new = y + h * sum(w * k for w, k in zip(row, rates) if w)
            rates.append(rate(new))
        e = h * sum(w * k for w, k in zip(_ERROR, rates) if w)
        e = e / (rtol * (1.0 + jnp.maximum(jnp.abs(y), jnp.abs(new))))
        error = jnp.sqrt(jnp.mean(e * e))
        good = error <= 1.0
        y, t = jnp.where(good, new, y), jnp.where(good, t + h, t)
        return y, t, h * jnp.clip(0.9 * error**-0.2, 0.2, 5.0)

    start = (jnp.stack([jnp.asarray(u, float), jnp.asarray(v, float)]), jnp.zeros(()), jnp.asarray(0.01))
    y, _, _ = while_loop(lambda s: s[1] < end, step, start, kind="checkpointed", max_steps=2**14)
    return y[0] + 2.0 * y[1]


PROGRAMS = (
    Program(
        "lorenz",
        lorenz,
        _lorenz_inputs,
        1_000_000,
        20,
        (2, 3, 4, 5, 6, 7),
        _lorenz_by_hand,
        _lorenz_in_jax,
        _lorenz_literally,
        iterations=lambda steps: steps,
        rtol=1e-7,
    ),
    Program(
        "dormand_prince",
        dormand_prince,
        _prey_inputs,
        1000,
        3,
        (2, 3, 4, 5, 6, 7),
        _prey_by_hand,
        _prey_in_jax,
        iterations=lambda end: len(_prey_forward(*_prey_inputs(end))[1]),
        rtol=1e-5,
    ),
)
