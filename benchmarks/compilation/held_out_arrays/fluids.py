"""Waves in shallow water on a periodic rectangle, rotating, with viscosity.

Source: G. K. Vallis, Atmospheric and Oceanic Fluid Dynamics, 2nd ed. (2017), section 3.1; forward-backward steps.
"""

from __future__ import annotations

import ctypes

import numpy as np

from ..c_code import c_function
from ..program import Program

G, CORIOLIS, VISCOSITY = 9.81, 1e-2, 0.05


def along_x(f):
    return 0.5 * (np.roll(f, -1, axis=1) - np.roll(f, 1, axis=1))


def along_y(f):
    return 0.5 * (np.roll(f, -1, axis=0) - np.roll(f, 1, axis=0))


def laplacian(f):
    return np.roll(f, -1, axis=0) + np.roll(f, 1, axis=0) + np.roll(f, -1, axis=1) + np.roll(f, 1, axis=1) - 4.0 * f


def shallow_water(steps, dt, h, u, v, target):
    """The misfit of the last height; the grid's spacing is 1."""
    for _ in range(steps):
        du = CORIOLIS * v - G * along_x(h) - u * along_x(u) - v * along_y(u) + VISCOSITY * laplacian(u)
        dv = -CORIOLIS * u - G * along_y(h) - u * along_x(v) - v * along_y(v) + VISCOSITY * laplacian(v)
        u, v = u + dt * du, v + dt * dv
        h = h - dt * (along_x(h * u) + along_y(h * v))
    return 0.5 * np.mean((h - target) ** 2)


def shallow_water_inputs(size):
    """Points a side, and steps."""
    n, steps = size
    rng = np.random.default_rng(51)
    y, x = np.mgrid[0:n, 0:n] / n
    h = 1.0 + 0.1 * np.exp(-50.0 * ((x - 0.5) ** 2 + (y - 0.4) ** 2)) + 0.001 * rng.normal(size=(n, n))
    u, v = (0.05 * rng.normal(size=(n, n)) for _ in range(2))
    return steps, 0.05, h, u, v, 1.0 + 0.02 * rng.normal(size=(n, n))


# All steps' fields are kept.  The way back gathers: each point reads its neighbours' cotangents, in two passes a step.
WATER = f"""
#define G {G}
#define F {CORIOLIS}
#define NU {VISCOSITY}
typedef const double *restrict in;
typedef double *restrict out;
/* the rows around row i, and for each point the columns around it: the first and the last column stand apart */
#define ROWS long a = (i ? i - 1 : n - 1) * n, o = i * n, b = (i < n - 1 ? i + 1 : 0) * n;
#define EACH(...) \\
    {{ long j = 0, l = n - 1, r = 1; __VA_ARGS__ }} \\
    for (long j = 1; j < n - 1; j++) {{ long l = j - 1, r = j + 1; __VA_ARGS__ }} \\
    {{ long j = n - 1, l = n - 2, r = 0; __VA_ARGS__ }}
static void winds(long n, double dt, in h, in u, in v, out p, out q) {{
    for (long i = 0; i < n; i++) {{
        ROWS
        EACH(
            double x = u[o + j], y = v[o + j];
            p[o + j] = x + dt * (F * y - 0.5 * (G * (h[o + r] - h[o + l]) + x * (u[o + r] - u[o + l]) + y * (u[b + j] - u[a + j]))
                + NU * (u[b + j] + u[a + j] + u[o + r] + u[o + l] - 4 * x));
            q[o + j] = y - dt * (F * x + 0.5 * (G * (h[b + j] - h[a + j]) + x * (v[o + r] - v[o + l]) + y * (v[b + j] - v[a + j]))
                - NU * (v[b + j] + v[a + j] + v[o + r] + v[o + l] - 4 * y));
        )
    }}
}}
static void height(long n, double dt, in h, in u, in v, out k) {{
    for (long i = 0; i < n; i++) {{
        ROWS
        EACH(
            k[o + j] = h[o + j] - 0.5 * dt * (h[o + r] * u[o + r] - h[o + l] * u[o + l] + h[b + j] * v[b + j] - h[a + j] * v[a + j]);
        )
    }}
}}
/* d: the cotangent of the new height; adds what the new winds u, v are due to x, y */
static void flux_back(long n, double dt, in d, in h, out x, out y) {{
    for (long i = 0; i < n; i++) {{
        ROWS
        EACH(
            x[o + j] += 0.5 * dt * h[o + j] * (d[o + r] - d[o + l]);
            y[o + j] += 0.5 * dt * h[o + j] * (d[b + j] - d[a + j]);
        )
    }}
}}
/* x, y: the cotangents of the new winds p, q; e, s, t: those of the old height and winds */
static void winds_back(long n, double dt, in d, in u, in v, in p, in q, in x, in y, out e, out s, out t) {{
    double half = 0.5 * dt;
    for (long i = 0; i < n; i++) {{
        ROWS
        EACH(
            double c = u[o + j], w = v[o + j], g = x[o + j], k = y[o + j];
            e[o + j] = d[o + j] + half * (p[o + j] * (d[o + r] - d[o + l]) + q[o + j] * (d[b + j] - d[a + j])
                + G * (x[o + r] - x[o + l] + y[b + j] - y[a + j]));
            s[o + j] = g - dt * F * k - half * (g * (u[o + r] - u[o + l]) + k * (v[o + r] - v[o + l])
                + x[o + l] * u[o + l] - x[o + r] * u[o + r] + x[a + j] * v[a + j] - x[b + j] * v[b + j])
                + dt * NU * (x[b + j] + x[a + j] + x[o + r] + x[o + l] - 4 * g);
            t[o + j] = k + dt * F * g - half * (g * (u[b + j] - u[a + j]) + k * (v[b + j] - v[a + j])
                + y[o + l] * u[o + l] - y[o + r] * u[o + r] + y[a + j] * v[a + j] - y[b + j] * v[b + j])
                + dt * NU * (y[b + j] + y[a + j] + y[o + r] + y[o + l] - 4 * k);
        )
    }}
}}
/* kept: the heights and winds, h, u, v for each time; the first three are filled.  two: two sets of cotangents */
double water(long steps, long n, double dt, double *kept, const double *target, double *two) {{
    long m = n * n;
    double value = 0, scale = 1.0 / m;
    for (long t = 0; t < steps; t++) {{
        double *s = kept + 3 * m * t;
        winds(n, dt, s, s + m, s + 2 * m, s + 4 * m, s + 5 * m);
        height(n, dt, s, s + 4 * m, s + 5 * m, s + 3 * m);
    }}
    const double *last = kept + 3 * m * steps;
    double *d = two, *e = two + 3 * m;
    for (long i = 0; i < m; i++) {{ double r = last[i] - target[i]; value += r * r; d[i] = scale * r; }}
    for (long i = m; i < 3 * m; i++) d[i] = 0;
    for (long t = steps - 1; t >= 0; t--) {{
        const double *s = kept + 3 * m * t;
        flux_back(n, dt, d, s, d + m, d + 2 * m);
        winds_back(n, dt, d, s + m, s + 2 * m, s + 4 * m, s + 5 * m, d + m, d + 2 * m, e, e + m, e + 2 * m);
        double *other = d; d = e; e = other;
    }}
    return 0.5 * scale * value;
}}
"""
_water = c_function(WATER, "water", ctypes.c_double)


def shallow_water_hand(steps, dt, h, u, v, target):
    n = len(h)
    kept, two = np.empty((steps + 1, 3, n, n)), np.empty((2, 3, n, n))
    kept[0] = h, u, v
    value = _water(steps, n, dt, kept, target, two)
    return value, tuple(two[steps % 2])


def shallow_water_jax(steps, dt, h, u, v, target):
    """Slices of padded arrays, which cost less than rolls; both halves of a step are computed again on the way back."""
    import jax
    import jax.numpy as jnp
    from jax import lax

    def around(f):
        f = jnp.pad(f, 1, mode="wrap")
        return f[1:-1, 2:], f[1:-1, :-2], f[2:, 1:-1], f[:-2, 1:-1]

    @jax.checkpoint
    def winds(h, u, v):
        slopes, spread = [], []
        for f in (h, u, v):
            east, west, south, north = around(f)
            slopes.append((0.5 * (east - west), 0.5 * (south - north)))
            spread.append(VISCOSITY * (east + west + south + north - 4.0 * f))
        (hx, hy), (ux, uy), (vx, vy) = slopes
        du = CORIOLIS * v - G * hx - u * ux - v * uy + spread[1]
        dv = -CORIOLIS * u - G * hy - u * vx - v * vy + spread[2]
        return u + dt * du, v + dt * dv

    @jax.checkpoint
    def height(h, u, v):
        east, west, _, _ = around(h * u)
        _, _, south, north = around(h * v)
        return h - 0.5 * dt * (east - west + south - north)

    def step(fields, _):
        h, u, v = fields
        u, v = winds(h, u, v)
        return (height(h, u, v), u, v), None

    (h, _, _), _ = lax.scan(step, (h, u, v), length=steps)
    return 0.5 * jnp.mean((h - target) ** 2)


PROGRAMS = (
    Program(
        "shallow_water",
        shallow_water,
        shallow_water_inputs,
        (128, 30),
        (6, 4),
        (2, 3, 4),
        shallow_water_hand,
        shallow_water_jax,
    ),
)
