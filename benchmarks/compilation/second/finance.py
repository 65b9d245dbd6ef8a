"""Prices of options: a binomial lattice with early exercise, implied volatilities by Newton's method."""

from __future__ import annotations

import math
from ctypes import c_double

import numpy as np

from ..c_code import c_function
from . import Program

# Bermudan puts on a lattice


def bermudan(steps, spots, strike, rate, sigma, term):
    dt = term / steps
    u = math.exp(sigma * math.sqrt(dt))
    d = 1.0 / u
    p = (math.exp(rate * dt) - d) / (u - d)
    discount = math.exp(-rate * dt)
    total = 0.0
    for spot in spots:
        value = np.zeros(steps + 1)
        for j in range(steps + 1):
            value[j] = max(strike - spot * u**j * d ** (steps - j), 0.0)
        for i in range(steps - 1, -1, -1):
            for j in range(i + 1):
                hold = discount * (p * value[j + 1] + (1 - p) * value[j])
                exercise = strike - spot * u**j * d ** (i - j)
                value[j] = max(hold, exercise)
        total += value[0]
    return total


def _bermudan_inputs(size):
    options, steps = size
    return steps, np.linspace(80.5, 119.0, options), 100.0, 0.05, 0.3, 1.0


_BERMUDAN = """
#include <math.h>
#include <string.h>
/* The price of a node is spot * u^(2j - i); powers[k] holds u^(k - steps). */
double bermudan(long n, long steps, const double *spots, double strike, double rate, double sigma, double term,
                double *powers, double *value, double *kept, unsigned char *held, double *dspots, double *drates) {
    double dt = term / steps, u = exp(sigma * sqrt(dt)), d = 1 / u, grown = exp(rate * dt), discount = 1 / grown;
    double p = (grown - d) / (u - d), total = 0, dp = 0, ddiscount = 0, dlog = 0;
    for (long k = 0; k <= 2 * steps; k++) powers[k] = pow(u, (double)(k - steps));
    for (long m = 0; m < n; m++) {
        double spot = spots[m], dspot = 0;
        for (long j = 0; j <= steps; j++) {
            double e = strike - spot * powers[2 * j];
            value[j] = e > 0 ? e : 0;
        }
        double *row = kept;
        unsigned char *flag = held;
        for (long i = steps - 1; i >= 0; i--) {
            memcpy(row, value, (i + 2) * sizeof(double));
            for (long j = 0; j <= i; j++) {
                double h = discount * (p * row[j + 1] + (1 - p) * row[j]);
                double e = strike - spot * powers[2 * j - i + steps];
                flag[j] = h >= e;
                value[j] = h >= e ? h : e;
            }
            row += i + 2;
            flag += i + 1;
        }
        total += value[0];
        double *g = value;
        memset(g, 0, (steps + 1) * sizeof(double));
        g[0] = 1;
        for (long i = 0; i < steps; i++) {
            row -= i + 2;
            flag -= i + 1;
            double carried = 0;
            for (long j = 0; j <= i; j++) {
                double own = flag[j] ? g[j] : 0, rest = g[j] - own;
                double x = powers[2 * j - i + steps];
                dspot -= rest * x;
                dlog -= rest * spot * x * (2 * j - i);
                ddiscount += own * (p * row[j + 1] + (1 - p) * row[j]);
                dp += own * discount * (row[j + 1] - row[j]);
                g[j] = own * discount * (1 - p) + carried;
                carried = own * discount * p;
            }
            g[i + 1] = carried;
        }
        for (long j = 0; j <= steps; j++) {
            double x = powers[2 * j];
            if (strike - spot * x > 0) {
                dspot -= g[j] * x;
                dlog -= g[j] * spot * x * (2 * j - steps);
            }
        }
        dspots[m] = dspot;
    }
    double du = dlog / u, slope = u - d;
    double dgrown = dp / slope - ddiscount * discount * discount, dd = -dp / slope + dp * p / slope;
    du += -dp * p / slope - dd * d * d;
    drates[0] = dgrown * grown * dt;
    drates[1] = du * u * sqrt(dt);
    return total;
}
"""


def _bermudan_by_hand(steps, spots, strike, rate, sigma, term):
    nodes = (steps + 1) * (steps + 4) // 2
    work = np.empty(2 * steps + 1), np.empty(steps + 1), np.empty(nodes), np.empty(nodes, np.uint8)
    dspots, rates = np.empty(len(spots)), np.empty(2)
    run = c_function(_BERMUDAN, "bermudan", c_double)
    value = run(len(spots), steps, spots, strike, rate, sigma, term, *work, dspots, rates)
    return value, (dspots, rates[0], rates[1])


# Implied volatilities


def implied_volatility(price, spot, strike, term, rate):
    total = 0.0
    for i in range(len(price)):
        s, k, t = spot[i], strike[i], term[i]
        discount = math.exp(-rate * t)
        sigma = 0.3
        step = 1.0
        while abs(step) > 1e-10:
            root = sigma * math.sqrt(t)
            d1 = (math.log(s / k) + (rate + 0.5 * sigma**2) * t) / root
            d2 = d1 - root
            call = s * 0.5 * (1 + math.erf(d1 / math.sqrt(2))) - k * discount * 0.5 * (1 + math.erf(d2 / math.sqrt(2)))
            vega = s * math.sqrt(t) * math.exp(-0.5 * d1 * d1) / math.sqrt(2 * math.pi)
            step = (call - price[i]) / vega
            sigma -= step
        total += (sigma - 0.2) ** 2
    return total / len(price)


def _volatility_inputs(n):
    rng = np.random.default_rng(0)
    spot, term, sigma, rate = rng.uniform(80, 120, n), rng.uniform(0.3, 2, n), rng.uniform(0.15, 0.4, n), 0.02
    strike = spot * rng.uniform(0.9, 1.1, n)
    root = sigma * np.sqrt(term)
    d1 = (np.log(spot / strike) + (rate + 0.5 * sigma**2) * term) / root
    below = np.vectorize(lambda x: 0.5 * (1 + math.erf(x / math.sqrt(2))))
    price = spot * below(d1) - strike * np.exp(-rate * term) * below(d1 - root)
    return price, spot, strike, term, rate


PROGRAMS = (
    Program("bermudan", bermudan, _bermudan_inputs, (10, 200), (3, 12), (1, 3, 4), _bermudan_by_hand),
    Program("implied_volatility", implied_volatility, _volatility_inputs, 4000, 20, (0, 1, 4)),
)
