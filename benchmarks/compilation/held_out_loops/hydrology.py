"""The runoff of a catchment from rain and temperature: snow, soil moisture and two reservoirs, day by day.

Source: S. Bergstroem, The HBV model, in: V. P. Singh (ed.), Computer Models of Watershed Hydrology (1995).
"""

from __future__ import annotations

import ctypes

import numpy as np

from ..c_code import c_function
from ..program import Program


def catchment(rain, temperature, evaporation, observed, parameters):
    """The mean squared error of the discharge, all in mm per day."""
    threshold, factor, capacity, beta, limit, k0, k1, k2, upper_limit, percolation = parameters
    snow, soil, upper, lower = 0.0, 0.5 * capacity, 1.0, 10.0
    total = 0.0
    for day in range(len(rain)):
        if temperature[day] < threshold:
            snow += rain[day]
            water = 0.0
        else:
            melt = min(snow, factor * (temperature[day] - threshold))
            snow -= melt
            water = rain[day] + melt
        recharge = water * (soil / capacity) ** beta
        soil += water - recharge
        if soil > capacity:
            recharge += soil - capacity
            soil = capacity
        soil -= min(soil, evaporation[day] * min(1.0, soil / (limit * capacity)))
        upper += recharge
        down = min(upper, percolation)
        upper -= down
        lower += down
        quick = k1 * upper
        if upper > upper_limit:
            quick += k0 * (upper - upper_limit)
        slow = k2 * lower
        upper -= quick
        lower -= slow
        total += (quick + slow - observed[day]) ** 2
    return total / len(rain)


def catchment_inputs(days):
    rng = np.random.default_rng(37)
    season = np.cos(2.0 * np.pi * np.arange(days) / 365.25)
    rain = rng.gamma(0.5, 10.0, days) * (rng.random(days) < 0.5)
    temperature = 6.0 - 10.0 * season + 3.0 * rng.normal(size=days)
    evaporation = 2.0 - 1.5 * season + 0.2 * rng.random(days)
    parameters = np.array([0.2, 3.0, 180.0, 2.2, 0.7, 0.25, 0.11, 0.03, 12.0, 1.4])
    return rain, temperature, evaporation, rng.gamma(2.0, 1.0, days), parameters


# The four storages are kept for each day, and a day is computed again on the way back.
CATCHMENT = r"""
#include <math.h>
#include <stdlib.h>
typedef struct { double snow, soil, upper, lower, power; } State;
static double least(double a, double b) { return a < b ? a : b; }
double catchment(long days, const double *rain, const double *temperature, const double *evaporation,
                 const double *observed, const double *p, double *dp) {
    double threshold = p[0], factor = p[1], capacity = p[2], beta = p[3], limit = p[4], k0 = p[5], k1 = p[6], k2 = p[7];
    double edge = p[8], percolation = p[9], inverse = 1 / capacity, dry = 1 / (limit * capacity), value = 0;
    State *kept = malloc(days * sizeof(State)), s = {0, 0.5 * capacity, 1, 10, 0};
    double *errors = malloc(days * sizeof(double));
    for (long t = 0; t < days; t++) {
        double excess = temperature[t] - threshold, water = 0, recharge = 0;
        kept[t] = s;
        if (excess < 0) s.snow += rain[t];
        else {
            double melt = least(s.snow, factor * excess);
            s.snow -= melt;
            water = rain[t] + melt;
        }
        if (water > 0) {
            kept[t].power = exp(beta * log(s.soil * inverse));
            recharge = water * kept[t].power;
            s.soil += water - recharge;
            if (s.soil > capacity) { recharge += s.soil - capacity; s.soil = capacity; }
        }
        s.soil -= least(s.soil, evaporation[t] * least(1, s.soil * dry));
        s.upper += recharge;
        double down = least(s.upper, percolation);
        s.upper -= down; s.lower += down;
        double quick = k1 * s.upper + (s.upper > edge ? k0 * (s.upper - edge) : 0), slow = k2 * s.lower;
        s.upper -= quick; s.lower -= slow;
        errors[t] = quick + slow - observed[t];
        value += errors[t] * errors[t];
    }
    double snow = 0, soil = 0, upper = 0, lower = 0, scale = 2.0 / days, d[10] = {0};
    for (long t = days - 1; t >= 0; t--) {
        State a = kept[t];
        double excess = temperature[t] - threshold, water = 0, recharge = 0, wet = a.soil;
        int melts = excess >= 0, all = 0, full = 0;
        if (melts) { all = a.snow < factor * excess; water = rain[t] + (all ? a.snow : factor * excess); }
        if (water > 0) {
            recharge = water * a.power;
            wet += water - recharge;
            if (wet > capacity) { full = 1; recharge += wet - capacity; }
        }
        double u = a.upper + recharge, down = least(u, percolation), v = u - down, w = a.lower + down;
        /* discharge */
        double g = scale * errors[t], gquick = g - upper, gslow = g - lower;
        d[7] += gslow * w; lower += gslow * k2;
        d[6] += gquick * v; upper += gquick * k1;
        if (v > edge) { d[5] += gquick * (v - edge); upper += gquick * k0; d[8] -= gquick * k0; }
        double gdown = lower - upper;
        if (u < percolation) upper += gdown; else d[9] += gdown;
        double grecharge = upper;
        /* evaporation */
        double before = full ? capacity : wet, ratio = before * dry, e = evaporation[t];
        if (before < e * least(1, ratio)) soil = 0;
        else if (ratio < 1) {
            double h = -soil * e; /* for the ratio */
            d[4] -= h * ratio / limit; d[2] -= h * ratio * inverse;
            soil += h * dry;
        }
        /* soil */
        double gwater = 0;
        if (full) { d[2] += soil - grecharge; soil = grecharge; }
        if (water > 0) {
            double h = grecharge - soil;
            gwater = soil + h * a.power;
            double k = h * recharge;
            if (full) k = h * water * a.power;
            d[3] += k * log(a.soil * inverse); d[2] -= k * beta * inverse;
            soil += k * beta / a.soil;
        } else if (melts) gwater = soil + (grecharge - soil) * exp(beta * log(a.soil * inverse));
        /* snow */
        if (melts) {
            double h = gwater - snow;
            if (all) snow += h; else { d[1] += h * excess; d[0] -= h * factor; }
        }
    }
    d[2] += 0.5 * soil;
    for (int i = 0; i < 10; i++) dp[i] = d[i];
    free(kept); free(errors);
    return value / days;
}
"""
_catchment = c_function(CATCHMENT, "catchment", ctypes.c_double)


def catchment_hand(rain, temperature, evaporation, observed, parameters):
    d = np.empty_like(parameters)
    return _catchment(len(rain), rain, temperature, evaporation, observed, parameters, d), (d,)


def catchment_jax(rain, temperature, evaporation, observed, parameters):
    import jax
    import jax.numpy as jnp
    from jax import lax

    threshold, factor, capacity, beta, limit, k0, k1, k2, upper_limit, percolation = parameters

    @jax.checkpoint
    def day(state, forcing):
        snow, soil, upper, lower = state
        rain, temperature, evaporation = forcing
        excess = temperature - threshold
        melt = jnp.where(excess < 0.0, 0.0, jnp.minimum(snow, factor * excess))
        snow = snow - melt + jnp.where(excess < 0.0, rain, 0.0)
        water = jnp.where(excess < 0.0, 0.0, rain + melt)
        recharge = water * (soil / capacity) ** beta
        soil = soil + water - recharge
        over = jnp.maximum(soil - capacity, 0.0)
        recharge, soil = recharge + over, soil - over
        soil = soil - jnp.minimum(soil, evaporation * jnp.minimum(1.0, soil / (limit * capacity)))
        upper = upper + recharge
        down = jnp.minimum(upper, percolation)
        upper, lower = upper - down, lower + down
        quick = k1 * upper + k0 * jnp.maximum(upper - upper_limit, 0.0)
        slow = k2 * lower
        return (snow, soil, upper - quick, lower - slow), quick + slow

    start = 0.0, 0.5 * capacity, 1.0, 10.0
    _, discharge = lax.scan(day, start, (rain, temperature, evaporation))
    return jnp.mean((discharge - observed) ** 2)


PROGRAMS = (Program("catchment", catchment, catchment_inputs, 40_000, 60, (4,), catchment_hand, catchment_jax),)
