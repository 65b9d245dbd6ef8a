"""A Kalman filter: products, solutions and determinants of matrices with few rows, step by step."""

from __future__ import annotations

import ctypes

import jax.numpy as jnp
import numpy as np
from jax import lax

from ..c_code import c_function
from ..program import Program

STATES, SENSORS = 4, 2
NOISE = 0.1


def kalman(F, H, observed):
    """The logarithm of the likelihood of the observations, apart from a constant."""
    x, P = np.zeros(STATES), np.eye(STATES)
    total = 0.0
    for z in observed:
        x, P = F @ x, F @ P @ F.T + NOISE * np.eye(STATES)
        error, S = z - H @ x, H @ P @ H.T + np.eye(SENSORS)
        gain = np.linalg.solve(S, H @ P).T
        total -= 0.5 * (error @ np.linalg.solve(S, error) + np.linalg.slogdet(S)[1])
        x, P = x + gain @ error, P - gain @ H @ P
    return total


def _inputs(steps):
    rng = np.random.default_rng(21)
    F = 0.9 * np.linalg.qr(rng.normal(size=(STATES, STATES)))[0]
    return F, rng.normal(size=(SENSORS, STATES)), rng.normal(size=(steps, SENSORS))


# C = A B and its variants, with loops of known length that the compiler unrolls.
CODE = f"""
#include <math.h>
#include <stdlib.h>
#include <string.h>
#define N {STATES}
#define M {SENSORS}
#define FOR(i, n) for (int i = 0; i < n; i++)
#define MUL(C, A, B, r, k, c) FOR(i, r) FOR(j, c) {{ double s = 0; FOR(l, k) s += A[i][l] * B[l][j]; C[i][j] = s; }}
#define MUL_T(C, A, B, r, k, c) FOR(i, r) FOR(j, c) {{ double s = 0; FOR(l, k) s += A[i][l] * B[j][l]; C[i][j] = s; }}
#define T_MUL(C, A, B, r, k, c) FOR(i, r) FOR(j, c) {{ double s = 0; FOR(l, k) s += A[l][i] * B[l][j]; C[i][j] = s; }}
#define ADD(C, A, r, c) FOR(i, r) FOR(j, c) C[i][j] += A[i][j];

typedef struct {{ double x[N], P[N][N], xp[N], Pp[N][N], V[M][M], e[M], u[M], K[N][M], G[M][N], FP[N][N]; }} Step;

double kalman(const double (*F)[N], const double (*H)[N], const double (*z)[M], long steps,
              double (*dF)[N], double (*dH)[N], double (*dz)[M]) {{
    Step *all = malloc(steps * sizeof(Step));
    double x[N] = {{0}}, P[N][N] = {{{{0}}}}, total = 0;
    FOR(i, N) P[i][i] = 1;
    for (long t = 0; t < steps; t++) {{
        Step *k = all + t;
        memcpy(k->x, x, sizeof x); memcpy(k->P, P, sizeof P);
        FOR(i, N) {{ double s = 0; FOR(j, N) s += F[i][j] * x[j]; k->xp[i] = s; }}
        MUL(k->FP, F, P, N, N, N)
        MUL_T(k->Pp, k->FP, F, N, N, N)
        FOR(i, N) k->Pp[i][i] += {NOISE};
        MUL(k->G, H, k->Pp, M, N, N)
        double S[M][M];
        MUL_T(S, k->G, H, M, N, M)
        FOR(i, M) S[i][i] += 1;
        double det = S[0][0] * S[1][1] - S[0][1] * S[1][0];
        k->V[0][0] = S[1][1] / det; k->V[1][1] = S[0][0] / det;
        k->V[0][1] = -S[0][1] / det; k->V[1][0] = -S[1][0] / det;
        FOR(i, M) {{ double s = z[t][i]; FOR(j, N) s -= H[i][j] * k->xp[j]; k->e[i] = s; }}
        FOR(i, M) {{ double s = 0; FOR(j, M) s += k->V[i][j] * k->e[j]; k->u[i] = s; }}
        FOR(i, N) FOR(j, M) {{ double s = 0; FOR(l, M) s += k->G[l][i] * k->V[l][j]; k->K[i][j] = s; }}
        FOR(i, M) total -= 0.5 * k->e[i] * k->u[i];
        total -= 0.5 * log(det);
        FOR(i, N) {{ double s = k->xp[i]; FOR(j, M) s += k->K[i][j] * k->e[j]; x[i] = s; }}
        double KG[N][N];
        MUL(KG, k->K, k->G, N, M, N)
        FOR(i, N) FOR(j, N) P[i][j] = k->Pp[i][j] - KG[i][j];
    }}
    double dx[N] = {{0}}, dP[N][N] = {{{{0}}}};
    memset(dF, 0, N * N * sizeof(double)); memset(dH, 0, M * N * sizeof(double));
    for (long t = steps; t-- > 0;) {{
        Step *k = all + t;
        double dK[N][M], dG[M][N], de[M], dS[M][M], dxp[N], dPp[N][N];
        FOR(i, N) FOR(j, M) {{ double s = dx[i] * k->e[j]; FOR(l, N) s -= dP[i][l] * k->G[j][l]; dK[i][j] = s; }}
        FOR(i, M) FOR(j, N) {{ double s = 0; FOR(l, N) s -= k->K[l][i] * dP[l][j]; dG[i][j] = s; }}
        FOR(i, M) {{ double s = -k->u[i]; FOR(l, N) s += k->K[l][i] * dx[l]; de[i] = s; }}
        double KdK[M][M];
        T_MUL(KdK, k->K, dK, M, N, M)
        FOR(i, M) FOR(j, M) {{
            double s = 0.5 * (k->u[i] * k->u[j] - k->V[i][j]);
            FOR(l, M) s -= KdK[i][l] * k->V[j][l];
            dS[i][j] = s;
        }}
        FOR(i, M) FOR(j, N) FOR(l, M) dG[i][j] += k->V[i][l] * dK[j][l];
        double SH[M][N], part[M][N];
        FOR(i, M) FOR(j, N) {{ double s = 0; FOR(l, M) s += (dS[i][l] + dS[l][i]) * k->G[l][j]; dH[i][j] += s; }}
        MUL_T(part, dG, k->Pp, M, N, N)
        ADD(dH, part, M, N)
        MUL(SH, dS, H, M, M, N)
        FOR(i, N) FOR(j, N) {{
            double s = dP[i][j];
            FOR(l, M) s += H[l][i] * (SH[l][j] + dG[l][j]);
            dPp[i][j] = s;
        }}
        FOR(i, M) {{ dz[t][i] = de[i]; FOR(j, N) dH[i][j] -= de[i] * k->xp[j]; }}
        FOR(i, N) {{ double s = dx[i]; FOR(l, M) s -= H[l][i] * de[l]; dxp[i] = s; }}
        FOR(i, N) FOR(j, N) {{
            double s = dxp[i] * k->x[j];
            FOR(l, N) s += (dPp[i][l] + dPp[l][i]) * k->FP[l][j];
            dF[i][j] += s;
        }}
        double half[N][N];
        T_MUL(half, F, dPp, N, N, N)
        MUL(dP, half, F, N, N, N)
        FOR(i, N) {{ double s = 0; FOR(l, N) s += F[l][i] * dxp[l]; dx[i] = s; }}
    }}
    free(all);
    return total;
}}
"""
_kalman = c_function(CODE, "kalman", ctypes.c_double)


def _by_hand(F, H, observed):
    gradient = tuple(map(np.empty_like, (F, H, observed)))
    loss = _kalman(F, H, observed, len(observed), *gradient)
    return loss, gradient


def _in_jax(F, H, observed):
    def step(state, z):
        x, P = state
        x, P = F @ x, F @ P @ F.T + NOISE * jnp.eye(STATES)
        error, S = z - H @ x, H @ P @ H.T + jnp.eye(SENSORS)
        solved = jnp.linalg.solve(S, jnp.concatenate((H @ P, error[:, None]), axis=1))
        gain = solved[:, :-1].T
        gained = -0.5 * (error @ solved[:, -1] + jnp.linalg.slogdet(S)[1])
        return (x + gain @ error, P - gain @ H @ P), gained

    start = jnp.zeros(STATES), jnp.eye(STATES)
    return jnp.sum(lax.scan(step, start, observed)[1])


PROGRAMS = (Program("kalman", kalman, _inputs, 5_000, 5, (0, 1, 2), _by_hand, _in_jax),)
