"""An action potential that travels along an axon, fitted to a recording at its end.

Source: A. L. Hodgkin, A. F. Huxley, A quantitative description of membrane current and its application to conduction and
excitation in nerve, J. Physiol. 117 (1952) 500-544; potentials in mV with rest at -65, times in ms.
"""

from __future__ import annotations

import ctypes

import numpy as np

from ..c_code import c_function
from ..program import Program

E_NA, E_K, E_LEAK = 50.0, -77.0, -54.387


def opening_and_closing(V):
    """The rates of the gates m, h and n."""
    return (
        (0.1 * (V + 40.0) / (1.0 - np.exp(-(V + 40.0) / 10.0)), 4.0 * np.exp(-(V + 65.0) / 18.0)),
        (0.07 * np.exp(-(V + 65.0) / 20.0), 1.0 / (1.0 + np.exp(-(V + 35.0) / 10.0))),
        (0.01 * (V + 55.0) / (1.0 - np.exp(-(V + 55.0) / 10.0)), 0.125 * np.exp(-(V + 65.0) / 80.0)),
    )


def axon(dt, current, recorded, g_na, g_k, g_leak, axial):
    """The mean squared error of the last compartment's potential; explicit steps, capacity 1 uF/cm^2."""
    V = np.full(len(g_na), -65.0)
    m, h, n = (a / (a + b) for a, b in opening_and_closing(V))
    trace = np.zeros(len(current))
    for t in range(len(current)):
        (am, bm), (ah, bh), (an, bn) = opening_and_closing(V)
        ionic = g_na * m**3 * h * (V - E_NA) + g_k * n**4 * (V - E_K) + g_leak * (V - E_LEAK)
        flow = axial * np.diff(V)
        dV = -ionic
        dV[:-1] += flow
        dV[1:] -= flow
        dV[0] += current[t]
        m = m + dt * (am * (1.0 - m) - bm * m)
        h = h + dt * (ah * (1.0 - h) - bh * h)
        n = n + dt * (an * (1.0 - n) - bn * n)
        V = V + dt * dV
        trace[t] = V[-1]
    return np.mean((trace - recorded) ** 2)


def axon_inputs(size):
    """Compartments and steps."""
    count, steps = size
    rng = np.random.default_rng(42)
    time = 0.01 * np.arange(steps)
    conductances = (g * (1.0 + 0.05 * rng.normal(size=count)) for g in (120.0, 36.0, 0.3))
    return 0.01, 30.0 * (time < 2.0), -65.0 + 5.0 * rng.normal(size=steps), *conductances, 3.0


# Most exponentials are powers of exp(-V / 80), so that two are enough.  All steps' states are kept.
AXON = f"""
#include <math.h>
#include <stdlib.h>
#include <string.h>
#define ENA {E_NA}
#define EK {E_K}
#define EL {E_LEAK}
typedef double *restrict out;
typedef const double *restrict in;
#define RATES \\
    double z = exp(v * (-1 / 80.0)), u = exp(v * (-1 / 18.0)), z2 = z * z, y = z2 * z2, x = y * y; \\
    double p = x * {np.exp(-4.0)}, q = x * {np.exp(-5.5)}, r = x * {np.exp(-3.5)}, pd = 1 / (1 - p), qd = 1 / (1 - q); \\
    double am = 0.1 * (v + 40) * pd, bm = u * {4.0 * np.exp(-65.0 / 18.0)}, ah = y * {0.07 * np.exp(-65.0 / 20.0)}; \\
    double bh = 1 / (1 + r), an = 0.01 * (v + 55) * qd, bn = z * {0.125 * np.exp(-65.0 / 80.0)};
/* w: the potentials, with room for a neighbour at both ends */
static void step(long count, double dt, double axial, in gna, in gk, in gl, in w, in M, in H, in N, out W, out m, out h,
                 out n) {{
    for (long i = 0; i < count; i++) {{
        double v = w[i], n2 = N[i] * N[i];
        RATES
        double ionic = gna[i] * M[i] * M[i] * M[i] * H[i] * (v - ENA) + gk[i] * n2 * n2 * (v - EK) + gl[i] * (v - EL);
        W[i] = v + dt * (axial * (w[i - 1] + w[i + 1] - 2 * v) - ionic);
        m[i] = M[i] + dt * (am - (am + bm) * M[i]);
        h[i] = H[i] + dt * (ah - (ah + bh) * H[i]);
        n[i] = N[i] + dt * (an - (an + bn) * N[i]);
    }}
}}
/* w: the cotangents of the potentials, with room for a neighbour at both ends */
static void back(long count, double dt, double axial, in gna, in gk, in gl, in w, in V, in M, in H, in N, out gv, out gm,
                 out gh, out gn, out dna, out dk, out dl) {{
    for (long i = 0; i < count; i++) {{
        double v = V[i], m = M[i], h = H[i], n = N[i], b = -dt * w[i], c = dt * gm[i], d = dt * gh[i], e = dt * gn[i];
        RATES
        double m2 = m * m, m3 = m2 * m, n2 = n * n, n3 = n2 * n, n4 = n2 * n2;
        double am1 = (0.1 - am * p * 0.1) * pd, bm1 = bm * (-1 / 18.0), ah1 = ah * (-1 / 20.0), bh1 = bh * bh * r * 0.1;
        double an1 = (0.01 - an * q * 0.1) * qd, bn1 = bn * (-1 / 80.0);
        dna[i] += b * m3 * h * (v - ENA);
        dk[i] += b * n4 * (v - EK);
        dl[i] += b * (v - EL);
        gv[i] = w[i] + dt * axial * (w[i - 1] + w[i + 1] - 2 * w[i]) + b * (gna[i] * m3 * h + gk[i] * n4 + gl[i])
            + c * (am1 - (am1 + bm1) * m) + d * (ah1 - (ah1 + bh1) * h) + e * (an1 - (an1 + bn1) * n);
        gm[i] += 3 * b * gna[i] * m2 * h * (v - ENA) - c * (am + bm);
        gh[i] += b * gna[i] * m3 * (v - ENA) - d * (ah + bh);
        gn[i] += 4 * b * gk[i] * n3 * (v - EK) - e * (an + bn);
    }}
}}
double axon(long count, long steps, double dt, in current, in recorded, in gna, in gk, in gl, double axial, out dna, out dk,
            out dl, out dcurrent, double *daxial) {{
    double value = 0, scale = 2.0 / steps, da = 0, *kept = malloc((steps + 1) * 4 * count * sizeof(double));
    double padded[count + 2], *w = padded + 1; /* an end's neighbour has the same potential */
    for (long i = 0; i < count; i++) {{
        double v = -65;
        RATES
        kept[i] = v; kept[count + i] = am / (am + bm); kept[2 * count + i] = ah / (ah + bh); kept[3 * count + i] = an / (an + bn);
    }}
    for (long t = 0; t < steps; t++) {{
        double *V = kept + 4 * count * t, *W = V + 4 * count;
        memcpy(w, V, count * sizeof(double));
        w[-1] = w[0]; w[count] = w[count - 1];
        step(count, dt, axial, gna, gk, gl, w, V + count, V + 2 * count, V + 3 * count, W, W + count, W + 2 * count,
             W + 3 * count);
        W[0] += dt * current[t];
        double error = W[count - 1] - recorded[t];
        value += error * error;
    }}
    double g[4 * count], *gv = g;
    memset(g, 0, sizeof g);
    memset(dna, 0, count * sizeof(double)); memset(dk, 0, count * sizeof(double)); memset(dl, 0, count * sizeof(double));
    for (long t = steps; t-- > 0;) {{
        const double *V = kept + 4 * count * t;
        gv[count - 1] += scale * (V[4 * count + count - 1] - recorded[t]);
        dcurrent[t] = dt * gv[0];
        memcpy(w, gv, count * sizeof(double));
        w[-1] = w[0]; w[count] = w[count - 1];
        double along = 0;
        for (long i = 0; i + 1 < count; i++) along += (V[i + 1] - V[i]) * (w[i] - w[i + 1]);
        da += along;
        back(count, dt, axial, gna, gk, gl, w, V, V + count, V + 2 * count, V + 3 * count, gv, gv + count, gv + 2 * count,
             gv + 3 * count, dna, dk, dl);
    }}
    *daxial = dt * da;
    free(kept);
    return value / steps;
}}
"""
_axon = c_function(AXON, "axon", ctypes.c_double)


def axon_hand(dt, current, recorded, g_na, g_k, g_leak, axial):
    d = tuple(map(np.empty_like, (g_na, g_k, g_leak, current)))
    daxial = np.empty(1)
    value = _axon(len(g_na), len(current), dt, current, recorded, g_na, g_k, g_leak, axial, *d, daxial)
    return value, (d[3], *d[:3], daxial[0])


def axon_jax(dt, current, recorded, g_na, g_k, g_leak, axial):
    import jax
    import jax.numpy as jnp
    from jax import lax

    def rates(V):
        z, u = jnp.exp(-V / 80.0), jnp.exp(-V / 18.0)
        y = z**4
        x = y * y
        return (
            (0.1 * (V + 40.0) / (1.0 - x * np.exp(-4.0)), u * (4.0 * np.exp(-65.0 / 18.0))),
            (y * (0.07 * np.exp(-65.0 / 20.0)), 1.0 / (1.0 + x * np.exp(-3.5))),
            (0.01 * (V + 55.0) / (1.0 - x * np.exp(-5.5)), z * (0.125 * np.exp(-65.0 / 80.0))),
        )

    @jax.checkpoint
    def step(state, current):
        V, gates = state
        m, h, n = gates
        ionic = g_na * m**3 * h * (V - E_NA) + g_k * n**4 * (V - E_K) + g_leak * (V - E_LEAK)
        flow = jnp.pad(axial * jnp.diff(V), 1)
        dV = (flow[1:] - flow[:-1] - ionic).at[0].add(current)
        gates = tuple(g + dt * (a * (1.0 - g) - b * g) for g, (a, b) in zip(gates, rates(V)))
        V = V + dt * dV
        return (V, gates), V[-1]

    V = jnp.full(len(g_na), -65.0)
    start = V, tuple(a / (a + b) for a, b in rates(V))
    _, trace = lax.scan(step, start, current)
    return jnp.mean((trace - recorded) ** 2)


PROGRAMS = (Program("axon", axon, axon_inputs, (32, 2500), (4, 40), (1, 3, 4, 5, 6), axon_hand, axon_jax, rtol=1e-8),)
