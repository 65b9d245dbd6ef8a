"""Sequences: a hidden Markov model in logarithms, alignment with affine gaps, local alignment."""

from __future__ import annotations

from ctypes import c_double

import numpy as np

from ..c_code import c_function
from . import Program


def logsumexp(v):
    m = np.max(v)
    return m + np.log(np.sum(np.exp(v - m)))


def hidden_states(obs, log_pi, log_A, log_B):
    """The forward algorithm."""
    T, S = len(obs), len(log_pi)
    alpha = np.zeros((T, S))
    alpha[0] = log_pi + log_B[:, obs[0]]
    for t in range(1, T):
        for s in range(S):
            alpha[t, s] = logsumexp(alpha[t - 1] + log_A[:, s]) + log_B[s, obs[t]]
    return logsumexp(alpha[-1])


def _states_inputs(size):
    states, length, symbols = size
    rng = np.random.default_rng(7)
    tables = rng.normal(size=states), rng.normal(size=(states, states)), rng.normal(size=(states, symbols))
    return rng.integers(0, symbols, length), *tables


_STATES = """
#include <math.h>
#include <string.h>
/* weights[t][s][r]: the share of state r before in state s at time t. */
double states(long S, long T, long O, const long *obs, const double *pi, const double *A, const double *B, double *alpha,
              double *turned, double *weights, double *g, double *dpi, double *dA, double *dB) {
    for (long r = 0; r < S; r++)
        for (long s = 0; s < S; s++) turned[s * S + r] = A[r * S + s];
    for (long s = 0; s < S; s++) alpha[s] = pi[s] + B[s * O + obs[0]];
    for (long t = 1; t <= T; t++)
        for (long s = 0; s < (t < T ? S : 1); s++) {
            const double *row = alpha + (t - 1) * S, *a = turned + s * S;
            double *w = weights + (t * S + s) * S, top = -INFINITY, sum = 0;
            for (long r = 0; r < S; r++) {
                w[r] = row[r] + (t < T ? a[r] : 0);
                top = w[r] > top ? w[r] : top;
            }
            for (long r = 0; r < S; r++) w[r] = exp(w[r] - top), sum += w[r];
            for (long r = 0; r < S; r++) w[r] /= sum;
            alpha[t * S + s] = top + log(sum) + (t < T ? B[s * O + obs[t]] : 0);
        }
    memset(turned, 0, S * S * sizeof(double));
    memset(dB, 0, S * O * sizeof(double));
    double *now = g, *before = g + S;
    memset(now, 0, S * sizeof(double));
    now[0] = 1;
    for (long t = T; t > 0; t--) {
        memset(before, 0, S * sizeof(double));
        for (long s = 0; s < (t < T ? S : 1); s++) {
            const double *w = weights + (t * S + s) * S;
            double *d = turned + s * S, x = now[s];
            if (t < T) dB[s * O + obs[t]] += x;
            for (long r = 0; r < S; r++) {
                double y = x * w[r];
                before[r] += y;
                if (t < T) d[r] += y;
            }
        }
        double *other = now;
        now = before;
        before = other;
    }
    for (long s = 0; s < S; s++) {
        dpi[s] = now[s];
        dB[s * O + obs[0]] += now[s];
        for (long r = 0; r < S; r++) dA[r * S + s] = turned[s * S + r];
    }
    return alpha[T * S];
}
"""


def _states_by_hand(obs, log_pi, log_A, log_B):
    T, S = len(obs), len(log_pi)
    found = np.empty(S), np.empty((S, S)), np.empty(log_B.shape)
    work = np.empty((T + 1, S)), np.empty((S, S)), np.empty((T + 1, S, S)), np.empty((2, S))
    run = c_function(_STATES, "states", c_double)
    return run(S, T, log_B.shape[1], obs, log_pi, log_A, log_B, *work, *found), found


def affine_gaps(a, b, score, opening, extension, beta):
    """Gotoh's recursions with soft matches."""
    n, m = len(a), len(b)
    M, X, Y = [np.full((n + 1, m + 1), -1e9) for _ in range(3)]
    M[0, 0] = 0.0
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            best = np.logaddexp(np.logaddexp(M[i - 1, j - 1], X[i - 1, j - 1]), Y[i - 1, j - 1])
            M[i, j] = best + beta * score[a[i - 1], b[j - 1]]
            X[i, j] = np.logaddexp(M[i - 1, j] - opening, X[i - 1, j] - extension)
            Y[i, j] = max(M[i, j - 1] - opening, Y[i, j - 1] - extension)
    return np.logaddexp(np.logaddexp(M[n, m], X[n, m]), Y[n, m])


def _gaps_inputs(n):
    rng = np.random.default_rng(2)
    score = rng.normal(size=(20, 20))
    return rng.integers(0, 20, n), rng.integers(0, 20, n + 5), score + score.T + 3 * np.eye(20), 2.0, 0.5, 0.8


def local_alignment(s1, s2, match, mismatch, gap):
    """Smith and Waterman's recursion."""
    n, m = len(s1), len(s2)
    H = np.zeros((n + 1, m + 1))
    best = 0.0
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            score = match if s1[i - 1] == s2[j - 1] else -mismatch
            H[i, j] = max(0.0, H[i - 1, j - 1] + score, H[i - 1, j] - gap, H[i, j - 1] - gap)
            best = max(best, H[i, j])
    return best


def _local_inputs(n):
    rng = np.random.default_rng(3)
    return rng.integers(0, 4, n), rng.integers(0, 4, n), 2.0, 1.0, 1.5


PROGRAMS = (
    Program("hidden_states", hidden_states, _states_inputs, (10, 500, 6), (3, 5, 4), (1, 2, 3), _states_by_hand),
    Program("affine_gaps", affine_gaps, _gaps_inputs, 150, 8, (2, 3, 4, 5)),
    Program("local_alignment", local_alignment, _local_inputs, 300, 10, (2, 3, 4)),
)
