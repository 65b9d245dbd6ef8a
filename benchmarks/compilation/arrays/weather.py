"""Kernels of the COSMO weather model: horizontal diffusion and vertical advection, as in NPBench (Ziogas et al., ICS 2021)."""

from __future__ import annotations

import ctypes

import numpy as np

from ..c_code import c_function
from ..program import Program

# ---- horizontal diffusion


def hdiff_kernel(in_field, out_field, coeff):
    I, J, K = out_field.shape[0], out_field.shape[1], out_field.shape[2]
    lap_field = 4.0 * in_field[1 : I + 3, 1 : J + 3, :] - (
        in_field[2 : I + 4, 1 : J + 3, :]
        + in_field[0 : I + 2, 1 : J + 3, :]
        + in_field[1 : I + 3, 2 : J + 4, :]
        + in_field[1 : I + 3, 0 : J + 2, :]
    )

    res = lap_field[1:, 1 : J + 1, :] - lap_field[:-1, 1 : J + 1, :]
    flx_field = np.where(
        (res * (in_field[2 : I + 3, 2 : J + 2, :] - in_field[1 : I + 2, 2 : J + 2, :])) > 0,
        0,
        res,
    )

    res = lap_field[1 : I + 1, 1:, :] - lap_field[1 : I + 1, :-1, :]
    fly_field = np.where(
        (res * (in_field[2 : I + 2, 2 : J + 3, :] - in_field[2 : I + 2, 1 : J + 2, :])) > 0,
        0,
        res,
    )

    out_field[:, :, :] = in_field[2 : I + 2, 2 : J + 2, :] - coeff[:, :, :] * (
        flx_field[1:, :, :] - flx_field[:-1, :, :] + fly_field[:, 1:, :] - fly_field[:, :-1, :]
    )


def hdiff(in_field, coeff, w):
    out_field = np.zeros_like(coeff)
    hdiff_kernel(in_field, out_field, coeff)
    return np.sum(out_field * w)


def hdiff_inputs(size):
    """``size`` points a side, as many levels."""
    random = np.random.default_rng(0)
    return (
        random.standard_normal((size + 4, size + 4, size)),
        random.standard_normal((size, size, size)),
        random.standard_normal((size, size, size)),
    )


# lap, gx, gy are work space, (I+2, J+2, K): gx and gy hold the cotangents of the fluxes, with a margin of zeros.
HDIFF = r"""
double hdiff(long I, long J, long K, const double *restrict in, const double *restrict coeff, const double *restrict w,
             double *restrict din, double *restrict dcoeff, double *restrict lap, double *restrict gx, double *restrict gy) {
    long R = (J + 4) * K, L = (J + 2) * K;
    double value = 0;
    for (long i = 0; i < I + 2; i++)
        for (long j = 0; j < J + 2; j++) {
            const double *p = in + (i + 1) * R + (j + 1) * K;
            double *l = lap + i * L + j * K;
            for (long k = 0; k < K; k++) l[k] = 4 * p[k] - (p[k + R] + p[k - R] + p[k + K] + p[k - K]);
        }
#define FLUX(l, p, S, T) ({ double r = l[k] - l[k - T]; r * (p[k] - p[k - S]) > 0 ? 0 : r; })
    for (long i = 0; i < I; i++)
        for (long j = 0; j < J; j++) {
            const double *p = in + (i + 2) * R + (j + 2) * K, *l = lap + (i + 1) * L + (j + 1) * K;
            const double *px = p + R, *lx = l + L, *py = p + K, *ly = l + K;
            long o = (i * J + j) * K;
            for (long k = 0; k < K; k++) {
                double d = FLUX(lx, px, R, L) - FLUX(l, p, R, L) + FLUX(ly, py, K, K) - FLUX(l, p, K, K);
                value += (p[k] - coeff[o + k] * d) * w[o + k];
                dcoeff[o + k] = -d * w[o + k];
            }
        }
    /* the cotangent of the flux in front of a point, where it is let through */
    for (long i = 0; i <= I; i++)
        for (long j = 0; j < J; j++) {
            const double *p = in + (i + 2) * R + (j + 2) * K, *l = lap + (i + 1) * L + (j + 1) * K;
            double *g = gx + (i + 1) * L + (j + 1) * K;
            long o = (i * J + j) * K, before = o - J * K;
            for (long k = 0; k < K; k++) {
                double r = l[k] - l[k - L];
                double q = (i < I ? coeff[o + k] * w[o + k] : 0) - (i ? coeff[before + k] * w[before + k] : 0);
                g[k] = r * (p[k] - p[k - R]) > 0 ? 0 : q;
            }
        }
    for (long i = 0; i < I; i++)
        for (long j = 0; j <= J; j++) {
            const double *p = in + (i + 2) * R + (j + 2) * K, *l = lap + (i + 1) * L + (j + 1) * K;
            double *g = gy + (i + 1) * L + (j + 1) * K;
            long o = (i * J + j) * K, before = o - K;
            for (long k = 0; k < K; k++) {
                double r = l[k] - l[k - K];
                double q = (j < J ? coeff[o + k] * w[o + k] : 0) - (j ? coeff[before + k] * w[before + k] : 0);
                g[k] = r * (p[k] - p[k - K]) > 0 ? 0 : q;
            }
        }
    /* that of the Laplacian, in place of it; gx and gy are zero on their margins */
    for (long i = 0; i < I + 2; i++)
        for (long j = 0; j < J + 2; j++) {
            long o = i * L + j * K;
            for (long k = 0; k < K; k++)
                lap[o + k] = gx[o + k] - (i < I + 1 ? gx[o + L + k] : 0) + gy[o + k] - (j < J + 1 ? gy[o + K + k] : 0);
        }
    for (long i = 0; i < I + 4; i++)
        for (long j = 0; j < J + 4; j++) {
            double *d = din + i * R + j * K;
            const double *l = lap + (i - 1) * L + (j - 1) * K, *v = w + ((i - 2) * J + j - 2) * K;
            int row = i >= 1 && i <= I + 2, column = j >= 1 && j <= J + 2;
            if (i >= 2 && i < I + 2 && j >= 2 && j < J + 2)
                for (long k = 0; k < K; k++) d[k] = v[k] + 4 * l[k] - (l[k + L] + l[k - L] + l[k + K] + l[k - K]);
            else {
                for (long k = 0; k < K; k++) d[k] = 0;
                if (row && column) for (long k = 0; k < K; k++) d[k] += 4 * l[k];
                if (i >= 2 && column) for (long k = 0; k < K; k++) d[k] -= l[k - L];
                if (i <= I + 1 && column) for (long k = 0; k < K; k++) d[k] -= l[k + L];
                if (row && j >= 2) for (long k = 0; k < K; k++) d[k] -= l[k - K];
                if (row && j <= J + 1) for (long k = 0; k < K; k++) d[k] -= l[k + K];
            }
        }
    return value;
}
"""
_hdiff = c_function(HDIFF, "hdiff", ctypes.c_double)


def hdiff_hand(in_field, coeff, w):
    I, J, K = coeff.shape
    din, dcoeff = np.empty_like(in_field), np.empty_like(coeff)
    lap, gx, gy = np.empty((I + 2, J + 2, K)), np.zeros((I + 2, J + 2, K)), np.zeros((I + 2, J + 2, K))
    value = _hdiff(I, J, K, in_field, coeff, w, din, dcoeff, lap, gx, gy)
    return value, (din, dcoeff)


def hdiff_jax(in_field, coeff, w):
    import jax.numpy as jnp

    def flux(lap, field, axis):
        res = jnp.diff(lap, axis=axis)
        return jnp.where(res * jnp.diff(field, axis=axis) > 0, 0.0, res)

    inner = in_field[1:-1, 1:-1]
    lap = 4.0 * inner - (in_field[2:, 1:-1] + in_field[:-2, 1:-1] + in_field[1:-1, 2:] + in_field[1:-1, :-2])
    flx = flux(lap[:, 1:-1], inner[:, 1:-1], 0)
    fly = flux(lap[1:-1], inner[1:-1], 1)
    out = in_field[2:-2, 2:-2] - coeff * (jnp.diff(flx, axis=0) + jnp.diff(fly, axis=1))
    return jnp.sum(out * w)


# ---- vertical advection

BET_M = 0.5
BET_P = 0.5


def vadv_kernel(utens_stage, u_stage, wcon, u_pos, utens, dtr_stage):
    I, J, K = utens_stage.shape[0], utens_stage.shape[1], utens_stage.shape[2]
    ccol = np.ndarray((I, J, K), dtype=utens_stage.dtype)
    dcol = np.ndarray((I, J, K), dtype=utens_stage.dtype)
    data_col = np.ndarray((I, J), dtype=utens_stage.dtype)

    for k in range(1):
        gcv = 0.25 * (wcon[1:, :, k + 1] + wcon[:-1, :, k + 1])
        cs = gcv * BET_M

        ccol[:, :, k] = gcv * BET_P
        bcol = dtr_stage - ccol[:, :, k]

        # update the d column
        correction_term = -cs * (u_stage[:, :, k + 1] - u_stage[:, :, k])
        dcol[:, :, k] = dtr_stage * u_pos[:, :, k] + utens[:, :, k] + utens_stage[:, :, k] + correction_term

        # Thomas forward
        divided = 1.0 / bcol
        ccol[:, :, k] = ccol[:, :, k] * divided
        dcol[:, :, k] = dcol[:, :, k] * divided

    for k in range(1, K - 1):
        gav = -0.25 * (wcon[1:, :, k] + wcon[:-1, :, k])
        gcv = 0.25 * (wcon[1:, :, k + 1] + wcon[:-1, :, k + 1])

        as_ = gav * BET_M
        cs = gcv * BET_M

        acol = gav * BET_P
        ccol[:, :, k] = gcv * BET_P
        bcol = dtr_stage - acol - ccol[:, :, k]

        # update the d column
        correction_term = -as_ * (u_stage[:, :, k - 1] - u_stage[:, :, k]) - cs * (
            u_stage[:, :, k + 1] - u_stage[:, :, k]
        )
        dcol[:, :, k] = dtr_stage * u_pos[:, :, k] + utens[:, :, k] + utens_stage[:, :, k] + correction_term

        # Thomas forward
        divided = 1.0 / (bcol - ccol[:, :, k - 1] * acol)
        ccol[:, :, k] = ccol[:, :, k] * divided
        dcol[:, :, k] = (dcol[:, :, k] - (dcol[:, :, k - 1]) * acol) * divided

    for k in range(K - 1, K):
        gav = -0.25 * (wcon[1:, :, k] + wcon[:-1, :, k])
        as_ = gav * BET_M
        acol = gav * BET_P
        bcol = dtr_stage - acol

        # update the d column
        correction_term = -as_ * (u_stage[:, :, k - 1] - u_stage[:, :, k])
        dcol[:, :, k] = dtr_stage * u_pos[:, :, k] + utens[:, :, k] + utens_stage[:, :, k] + correction_term

        # Thomas forward
        divided = 1.0 / (bcol - ccol[:, :, k - 1] * acol)
        dcol[:, :, k] = (dcol[:, :, k] - (dcol[:, :, k - 1]) * acol) * divided

    for k in range(K - 1, K - 2, -1):
        datacol = dcol[:, :, k]
        data_col[:] = datacol
        utens_stage[:, :, k] = dtr_stage * (datacol - u_pos[:, :, k])

    for k in range(K - 2, -1, -1):
        datacol = dcol[:, :, k] - ccol[:, :, k] * data_col[:, :]
        data_col[:] = datacol
        utens_stage[:, :, k] = dtr_stage * (datacol - u_pos[:, :, k])


def vadv(utens_stage, u_stage, wcon, u_pos, utens, dtr_stage, w):
    utens_stage = utens_stage.copy()
    vadv_kernel(utens_stage, u_stage, wcon, u_pos, utens, dtr_stage)
    return np.sum(utens_stage * w)


def vadv_inputs(size):
    """``size`` points a side (a multiple of 8), three quarters as many levels."""
    random = np.random.default_rng(0)
    I, J, K = size, size, 3 * size // 4
    fields = [random.random((I, J, K)) for _ in range(5)]
    return fields[0], fields[1], random.random((I + 1, J, K)), fields[2], fields[3], 3.0 / 20.0 + 1.0, fields[4]


# Eight columns at a time, their levels in the cache: the whole solve and its adjoint pass over main memory once.
VADV = r"""
#define W 8
#define EACH for (int l = 0; l < W; l++)
double vadv(long I, long J, long K, const double *restrict ust, const double *restrict us, const double *restrict wc,
            const double *restrict up, const double *restrict ut, double dtr, const double *restrict w,
            double *restrict dust, double *restrict dus, double *restrict dwc, double *restrict dup) {
    typedef double block[K + 1][W];
    block u, s, c, d, a, e, v, x, z, gd, gc, gs, gw, gp;
    double value = 0;
    for (long i = 0; i < I; i++)
        for (long j = 0; j < J; j += W) {
            long o = (i * J + j) * K, n = J * K;
            for (long k = 0; k < K; k++) EACH {
                long p = o + l * K + k;
                u[k][l] = us[p];
                s[k][l] = 0.25 * (wc[p] + wc[p + n]);
                d[k][l] = dtr * up[p] + ut[p] + ust[p];
                gp[k][l] = up[p];
                z[k][l] = w[p];
            }
            for (long k = 0; k < K; k++) EACH {
                double gav = k ? -s[k][l] : 0, gcv = k < K - 1 ? s[k + 1][l] : 0;
                double below = k ? u[k - 1][l] - u[k][l] : 0, above = k < K - 1 ? u[k + 1][l] - u[k][l] : 0;
                double r = d[k][l] - 0.5 * gav * below - 0.5 * gcv * above;
                a[k][l] = 0.5 * gav;
                e[k][l] = 0.5 * gcv;
                double b = dtr - a[k][l] - e[k][l];
                v[k][l] = 1 / (k ? b - c[k - 1][l] * a[k][l] : b);
                c[k][l] = e[k][l] * v[k][l];
                d[k][l] = (k ? r - d[k - 1][l] * a[k][l] : r) * v[k][l];
            }
            for (long k = K - 1; k >= 0; k--) EACH {
                x[k][l] = k < K - 1 ? d[k][l] - c[k][l] * x[k + 1][l] : d[k][l];
                value += dtr * (x[k][l] - gp[k][l]) * z[k][l];
            }
            double carry[W];
            EACH carry[l] = 0;
            for (long k = 0; k < K; k++) EACH {
                double g = dtr * z[k][l] + carry[l];
                gd[k][l] = g;
                gc[k][l] = k < K - 1 ? -g * x[k + 1][l] : 0;
                carry[l] = -c[k][l] * g;
                gs[k][l] = 0;
                gw[k][l] = 0;
            }
            for (long k = K - 1; k >= 0; k--) EACH {
                double gr = gd[k][l] * v[k][l];
                double gden = -(gd[k][l] * d[k][l] + gc[k][l] * c[k][l]) * v[k][l];
                double ga = -gden, ge = gc[k][l] * v[k][l] - gden;
                if (k) {
                    gd[k - 1][l] -= gr * a[k][l];
                    ga -= gr * d[k - 1][l] + gden * c[k - 1][l];
                    gc[k - 1][l] -= gden * a[k][l];
                }
                double below = k ? u[k - 1][l] - u[k][l] : 0, above = k < K - 1 ? u[k + 1][l] - u[k][l] : 0;
                gs[k][l] += gr * (a[k][l] + e[k][l]);
                if (k) { gs[k - 1][l] -= gr * a[k][l]; gw[k][l] -= 0.5 * (ga - gr * below); }
                if (k < K - 1) { gs[k + 1][l] -= gr * e[k][l]; gw[k + 1][l] += 0.5 * (ge - gr * above); }
                gp[k][l] = gr;
            }
            EACH for (long k = 0; k < K; k++) {
                long p = o + l * K + k;
                dust[p] = gp[k][l];
                dup[p] = dtr * (gp[k][l] - z[k][l]);
                dus[p] = gs[k][l];
                dwc[p] = 0.25 * gw[k][l] + (i ? dwc[p] : 0);
                dwc[p + n] = 0.25 * gw[k][l];
            }
        }
    return value;
}
"""
_vadv = c_function(VADV, "vadv", ctypes.c_double)


def vadv_hand(utens_stage, u_stage, wcon, u_pos, utens, dtr_stage, w):
    I, J, K = utens_stage.shape
    assert J % 8 == 0
    dust, dus, dwc, dup = (np.empty_like(x) for x in (utens_stage, u_stage, wcon, u_pos))
    value = _vadv(
        I, J, K, utens_stage, u_stage, wcon, u_pos, utens, float(dtr_stage), w, dust, dus, dwc, dup
    )  # fmt: skip
    return value, (dust, dus, dwc, dup, dust)


def vadv_jax(utens_stage, u_stage, wcon, u_pos, utens, dtr_stage, w):
    import jax.numpy as jnp
    from jax import lax

    def levels(x):
        return jnp.moveaxis(x, 2, 0)

    s = levels(0.25 * (wcon[1:] + wcon[:-1]))
    u = levels(u_stage)
    zero = jnp.zeros_like(s[:1])
    gav, gcv = jnp.concatenate([zero, -s[1:]]), jnp.concatenate([s[1:], zero])
    below = jnp.concatenate([zero, u[:-1] - u[1:]])
    above = jnp.concatenate([u[1:] - u[:-1], zero])
    r = levels(dtr_stage * u_pos + utens + utens_stage) - BET_M * gav * below - BET_M * gcv * above
    a, e = gav * BET_P, gcv * BET_P
    b = dtr_stage - a - e

    def eliminate(state, level):
        c, d = state
        a, b, e, r = level
        divided = 1.0 / (b - c * a)
        state = e * divided, (r - d * a) * divided
        return state, state

    def substitute(x, level):
        c, d = level
        x = d - c * x
        return x, x

    _, (c, d) = lax.scan(eliminate, (zero[0], zero[0]), (a, b, e, r))
    _, x = lax.scan(substitute, zero[0], (c, d), reverse=True)
    return jnp.sum(dtr_stage * (x - levels(u_pos)) * levels(w))


PROGRAMS = (
    Program("hdiff", hdiff, hdiff_inputs, 72, 5, (0, 1), hdiff_hand, hdiff_jax),
    Program("vadv", vadv, vadv_inputs, 80, 8, (0, 1, 2, 3, 4), vadv_hand, vadv_jax),
)
