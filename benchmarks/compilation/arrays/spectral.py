"""Split steps of the nonlinear Schroedinger equation with a potential, by Fourier transforms.

i psi_t = -psi_xx / 2 + (V + |psi|^2) psi on a periodic interval; Strang splitting: Weideman and Herbst, SIAM J. Numer.
Anal. 23 (1986) 485-507.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.fft

from ..c_code import c_function
from ..program import Program


def split_step(steps, dt, k, V, psi):
    drift = np.exp(-0.25j * dt * k**2)
    for _ in range(steps):
        psi = np.fft.ifft(drift * np.fft.fft(psi))
        psi = psi * np.exp(-1j * dt * (V + np.abs(psi) ** 2))
        psi = np.fft.ifft(drift * np.fft.fft(psi))
    return psi


def spectral(steps, dt, k, V, u, w):
    psi = split_step(steps, dt, k, V, u + 0j)
    return np.sum(w * np.abs(psi) ** 2)


def spectral_inputs(size):
    """``size`` points, 10 steps."""
    random = np.random.default_rng(0)
    x = np.linspace(-20.0, 20.0, size, endpoint=False)
    k = 2 * np.pi * np.fft.fftfreq(size, 40.0 / size)
    return 10, 0.01, k, 0.1 * x**2 + 0.1 * np.cos(3 * x), np.exp(-(x**2)), random.random(size)


SPECTRAL = r"""
#include <complex.h>
#include <math.h>
typedef double complex number;
#define N 256
/* z = psi exp(-i dt (V + |psi|^2)) */
void kick(long n, double dt, const double *restrict V, const double *restrict psi, double *restrict z) {
    double a[N], c[N], s[N];
    for (long o = 0; o < n; o += N) {
        int m = n - o < N ? n - o : N;
        const double *p = psi + 2 * o;
        for (int i = 0; i < m; i++) a[i] = -dt * (V[o + i] + p[2 * i] * p[2 * i] + p[2 * i + 1] * p[2 * i + 1]);
        for (int i = 0; i < m; i++) c[i] = cos(a[i]);
        for (int i = 0; i < m; i++) s[i] = sin(a[i]);
        for (int i = 0; i < m; i++) {
            z[2 * (o + i)] = p[2 * i] * c[i] - p[2 * i + 1] * s[i];
            z[2 * (o + i) + 1] = p[2 * i] * s[i] + p[2 * i + 1] * c[i];
        }
    }
}
/* the cotangent of psi in place of that of z, and what V gets; z as kick left it: |z| = |psi| */
void unkick(long n, double dt, const double *restrict V, const double *restrict psi, double *restrict dz, double *restrict dV) {
    double a[N], c[N], s[N];
    for (long o = 0; o < n; o += N) {
        int m = n - o < N ? n - o : N;
        const double *p = psi + 2 * o;
        double *d = dz + 2 * o;
        for (int i = 0; i < m; i++) a[i] = -dt * (V[o + i] + p[2 * i] * p[2 * i] + p[2 * i + 1] * p[2 * i + 1]);
        for (int i = 0; i < m; i++) c[i] = cos(a[i]);
        for (int i = 0; i < m; i++) s[i] = sin(a[i]);
        for (int i = 0; i < m; i++) {
            /* turned back by the angle a, d is the cotangent of psi at a fixed angle; the angle's is its part across psi */
            double x = d[2 * i] * c[i] + d[2 * i + 1] * s[i], y = d[2 * i + 1] * c[i] - d[2 * i] * s[i];
            double da = y * p[2 * i] - x * p[2 * i + 1];
            dV[o + i] -= dt * da;
            d[2 * i] = x - 2 * dt * da * p[2 * i];
            d[2 * i + 1] = y - 2 * dt * da * p[2 * i + 1];
        }
    }
}
void turn(long n, const number *restrict by, number *restrict z) { for (long i = 0; i < n; i++) z[i] *= by[i]; }
void turn_back(long n, const number *restrict by, number *restrict z) { for (long i = 0; i < n; i++) z[i] *= conj(by[i]); }
"""
_kick, _unkick, _turn, _turn_back = (c_function(SPECTRAL, name) for name in ("kick", "unkick", "turn", "turn_back"))


def spectral_hand(steps, dt, k, V, u, w):
    n = len(u)
    drift = np.exp(-0.25j * dt * k**2)
    # The half steps between two kicks are one whole step; the first and the last are alone.
    whole = drift * drift

    def drifted(psi: Any, by: Any, turn: Any) -> Any:
        z: Any = scipy.fft.fft(psi, overwrite_x=True)
        turn(n, by, z)
        return scipy.fft.ifft(z, overwrite_x=True)

    before = []
    psi = u + 0j
    for step in range(steps):
        psi = drifted(psi, whole if step else drift, _turn)
        before.append(psi)
        psi = np.empty_like(psi)
        _kick(n, dt, V, before[-1], psi)
    psi = drifted(psi, drift, _turn)
    value = float(np.sum(w * (psi.real**2 + psi.imag**2)))
    d = 2 * w * psi
    dV = np.zeros_like(V)
    for step in reversed(range(steps)):
        # A unitary step's adjoint is its inverse.
        d = drifted(d, whole if step < steps - 1 else drift, _turn_back)
        _unkick(n, dt, V, before[step], d, dV)
    return value, (dV, drifted(d, drift, _turn_back).real.copy())


def spectral_jax(steps, dt, k, V, u, w):
    import jax.numpy as jnp
    from jax import lax

    drift = jnp.exp(-0.25j * dt * k**2)

    def step(psi, _):
        psi = jnp.fft.ifft(drift * jnp.fft.fft(psi))
        psi = psi * jnp.exp(-1j * dt * (V + psi.real**2 + psi.imag**2))
        return jnp.fft.ifft(drift * jnp.fft.fft(psi)), None

    psi, _ = lax.scan(step, u + 0j, None, length=steps)
    return jnp.sum(w * (psi.real**2 + psi.imag**2))


PROGRAMS = (Program("spectral", spectral, spectral_inputs, 8192, 32, (3, 4), spectral_hand, spectral_jax),)
