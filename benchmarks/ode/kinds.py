"""Stochastic, symplectic and delay equations, and ensembles, beside Diffrax, SciPy and a loop in C.

Run: python -m benchmarks.ode.kinds [--quick]

Times are those of one processor, of contenders in turn. ``--quick`` takes small sizes and writes no file.
"""

from __future__ import annotations

import argparse
import os
import resource
import sys
from collections.abc import Callable
from datetime import date
from functools import partial
from statistics import median
from time import process_time
from typing import Any

import numpy as np
from scipy.integrate import solve_ivp

import morula as mo
from morula.ode import odesolve, symplectic
from morula.ode.delay import ddesolve
from morula.ode.stochastic import sdesolve

from ..compilation.c_code import c_function
from ..racing.contender import JAX_WITH_SWITCH
from ..report import RESULTS, Table, machine, markdown

Call = Callable[[], Any]
Contenders = dict[str, Call]
"""Calls that compute the same, by name; the first is morula's."""

# ---- geometric Brownian motion, 256 paths, 100 steps of Milstein's method

RATE, VOLATILITY = 0.05, 0.4


def growth(t: float, y: Any, rate: Any, volatility: Any) -> Any:
    return rate * y


def spread(t: float, y: Any, rate: Any, volatility: Any) -> Any:
    return volatility * y


def mean_price(parameters: Any, seeds: Any, steps: int) -> Any:
    def end(seed: Any) -> Any:
        settings: dict[str, Any] = {"method": "milstein", "steps": steps}
        return sdesolve(growth, spread, 1.0, [0.0, 1.0], parameters[0], parameters[1], path=seed, **settings).y[-1]

    return np.mean(mo.vmap(end)(seeds))


def prices(count: int, steps: int) -> Contenders:
    f = mo.jit(mo.value_and_grad(partial(mean_price, steps=steps)), target="native")
    at, seeds = np.array([RATE, VOLATILITY]), np.arange(count)
    calls: Contenders = {"morula": lambda: f(at, seeds)}
    try:
        calls["Diffrax"] = prices_in_diffrax(count, steps)
    except ImportError:
        print("Diffrax is not installed", file=sys.stderr)
    return calls


def prices_in_diffrax(count: int, steps: int) -> Call:
    """By a Brownian tree; its path of independent increments has no reverse mode."""
    import diffrax
    import jax

    numbers = jax.numpy

    def end(parameters: Any, key: Any) -> Any:
        motion = diffrax.VirtualBrownianTree(0.0, 1.0, tol=0.5 / steps, shape=(), key=key)
        drift = diffrax.ODETerm(lambda t, y, p: p[0] * y)
        noise = diffrax.ControlTerm(lambda t, y, p: p[1] * y, motion)
        terms = diffrax.MultiTerm(drift, noise)
        start = numbers.asarray(1.0)
        run = diffrax.diffeqsolve(
            terms, diffrax.ItoMilstein(), 0.0, 1.0, 1.0 / steps, start, parameters, max_steps=steps + 8
        )
        return run.ys[-1]  # type: ignore[index]

    f = jax.jit(jax.value_and_grad(lambda p, keys: numbers.mean(jax.vmap(end, in_axes=(None, 0))(p, keys))))
    at, keys = numbers.array([RATE, VOLATILITY]), jax.random.split(jax.random.PRNGKey(0), count)
    return lambda: jax.block_until_ready(f(at, keys))


# ---- the outer solar system by the leapfrog: sun, Jupiter, Saturn, Uranus, Neptune, Pluto
# E. Hairer, C. Lubich, G. Wanner, Geometric Numerical Integration (2006), table I.2.2: astronomical units, days, solar masses.

GRAVITY = 2.95912208286e-4
MASSES = np.array(
    [1.00000597682, 0.000954786104043, 0.000285583733151, 0.0000437273164546, 0.0000517759138449, 1 / 1.3e8]
)
PLACES = np.array([
    [0.0, 0.0, 0.0], [-3.5023653, -3.8169847, -1.5507963], [9.0755314, -3.0458353, -1.6483708],
    [8.3101420, -16.2901086, -7.2521278], [11.4707666, -25.7294829, -10.8169456], [-15.5387357, -25.2225594, -3.1902382],
])  # fmt: skip
VELOCITIES = np.array([
    [0.0, 0.0, 0.0], [0.00565429, -0.00412490, -0.00190589], [0.00168318, 0.00483525, 0.00192462],
    [0.00354178, 0.00137102, 0.00055029], [0.00288930, 0.00114527, 0.00039677], [0.00276725, -0.00170702, -0.00136504],
])  # fmt: skip
DAYS = 20.0
"""The length of a step."""


def attraction(q: Any, masses: Any) -> Any:
    a = np.zeros((6, 3))
    for i in range(6):
        for j in range(i):
            x, y, z = q[j, 0] - q[i, 0], q[j, 1] - q[i, 1], q[j, 2] - q[i, 2]
            square = x * x + y * y + z * z
            f = GRAVITY / (square * np.sqrt(square))
            a[i, 0] += masses[j] * f * x
            a[i, 1] += masses[j] * f * y
            a[i, 2] += masses[j] * f * z
            a[j, 0] -= masses[i] * f * x
            a[j, 1] -= masses[i] * f * y
            a[j, 2] -= masses[i] * f * z
    return a


LEAPFROG_IN_C = """
#include <math.h>
static void kick(double h, double q[6][3], double v[6][3], const double *m, double gravity) {
  for (int i = 0; i < 6; i++)
    for (int j = 0; j < i; j++) {
      double x = q[j][0] - q[i][0], y = q[j][1] - q[i][1], z = q[j][2] - q[i][2], s = x * x + y * y + z * z;
      double f = h * gravity / (s * sqrt(s)), a = f * m[j], b = f * m[i];
      v[i][0] += a * x, v[i][1] += a * y, v[i][2] += a * z, v[j][0] -= b * x, v[j][1] -= b * y, v[j][2] -= b * z;
    }
}
void leapfrog(double q[6][3], double v[6][3], const double *m, double gravity, double h, long steps) {
  for (long n = 0; n < steps; n++) {
    for (int i = 0; i < 18; i++) q[0][i] += 0.5 * h * v[0][i];
    kick(h, q, v, m, gravity);
    for (int i = 0; i < 18; i++) q[0][i] += 0.5 * h * v[0][i];
  }
}
"""


def last_places(q: Any, v: Any, masses: Any, steps: int) -> Any:
    return symplectic(attraction, q, v, [0.0, DAYS * steps], masses, steps=steps).positions[-1]


def of_jupiter(q: Any, v: Any, masses: Any, steps: int) -> Any:
    """The squared distance of Jupiter from the sun."""
    end = last_places(q, v, masses, steps)
    return np.sum((end[1] - end[0]) ** 2)


def planets_in_c(steps: int) -> Any:
    q, v = PLACES.copy(), VELOCITIES.copy()
    c_function(LEAPFROG_IN_C, "leapfrog")(q, v, MASSES, GRAVITY, DAYS, steps)
    return q


def planets(steps: int) -> Contenders:
    value = mo.jit(partial(last_places, steps=steps), target="native")
    return {"morula": lambda: value(PLACES, VELOCITIES, MASSES), "C": lambda: planets_in_c(steps)}


def gradient_of_planets(steps: int) -> Contenders:
    f = mo.jit(mo.value_and_grad(partial(of_jupiter, steps=steps), argnums=(0, 1, 2)), target="native")
    return {"morula": lambda: f(PLACES, VELOCITIES, MASSES), "C, value alone": lambda: planets_in_c(steps)}


# ---- the Mackey-Glass equation: delay 17, to t = 500

DELAY = 17.0
DELAY_TOLERANCES: dict[str, Any] = {"rtol": 1e-6, "atol": 1e-8}


def release(t: float, y: Any, past: Any, production: Any, decay: Any) -> Any:
    return production * past / (1.0 + past**10) - decay * y


def densities(production: Any, decay: Any, end: float) -> Any:
    return ddesolve(release, 1.2, [0.0, end], production, decay, lags=DELAY, **DELAY_TOLERANCES).y[-1]


def constant_history(t: float) -> Any:
    return np.array([1.2])


def with_past(t: float, y: Any, past: Callable[[float], Any], production: float, decay: float) -> Any:
    return release(t, y, past(t - DELAY), production, decay)


def densities_in_scipy(production: float, decay: float, end: float) -> Any:
    """The method of steps: on each interval of the length of the delay, the past is the dense output of the interval before."""
    t, y = 0.0, np.array([1.2])
    past: Callable[[float], Any] = constant_history
    while t < end:
        last = min(t + DELAY, end)
        f = partial(with_past, past=past, production=production, decay=decay)
        run = solve_ivp(f, (t, last), y, method="RK45", dense_output=True, **DELAY_TOLERANCES)
        t, y, past = last, run.y[:, -1], run.sol
    return y[0]


def delays(end: float) -> Contenders:
    f = mo.jit(partial(densities, end=end), target="native")
    return {"morula": lambda: f(0.2, 0.1), "SciPy, method of steps": lambda: densities_in_scipy(0.2, 0.1, end)}


# ---- an ensemble of Lotka-Volterra systems, each with its own steps


def hares(t: float, y: Any, p: Any) -> Any:
    return np.stack([p[0] * y[0] - p[1] * y[0] * y[1], p[3] * y[0] * y[1] - p[2] * y[1]])


def parameters_of(count: int) -> np.ndarray:
    return np.array([1.5, 1.0, 3.0, 1.0]) * np.random.default_rng(1).uniform(0.8, 1.2, size=(count, 4))


def ensembles(count: int) -> Contenders:
    def end(p: Any) -> Any:
        return odesolve(hares, np.ones(2), [0.0, 10.0], p, rtol=1e-6, atol=1e-6).y[-1]

    f, rows = mo.jit(mo.vmap(end), target="native"), parameters_of(count)
    calls: Contenders = {"morula": lambda: f(rows)}
    try:
        calls["Diffrax"] = ensemble_in_diffrax(rows)
    except ImportError:
        print("Diffrax is not installed", file=sys.stderr)
    return calls


def ensemble_in_diffrax(rows: np.ndarray) -> Call:
    import diffrax
    import jax

    numbers = jax.numpy
    term = diffrax.ODETerm(
        lambda t, y, p: numbers.stack([p[0] * y[0] - p[1] * y[0] * y[1], p[3] * y[0] * y[1] - p[2] * y[1]])
    )
    control = diffrax.PIDController(rtol=1e-6, atol=1e-6)

    def end(p: Any) -> Any:
        run = diffrax.diffeqsolve(
            term, diffrax.Tsit5(), 0.0, 10.0, None, numbers.ones(2), p, stepsize_controller=control
        )
        return run.ys[-1]  # type: ignore[index]

    f, at = jax.jit(jax.vmap(end)), numbers.asarray(rows)
    return lambda: jax.block_until_ready(f(at))


# ---- the report


def seconds_of(calls: Contenders, repeats: int) -> tuple[dict[str, float], dict[str, float]]:
    """The seconds of the first call, and the medians of ``repeats`` further ones in turn."""
    first, times = {}, {name: [] for name in calls}
    for name, call in calls.items():
        start = process_time()
        call()
        first[name] = process_time() - start
    for _ in range(repeats):
        for name, call in calls.items():
            start = process_time()
            call()
            times[name].append(process_time() - start)
    return first, {name: median(t) for name, t in times.items()}


def megabytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.ode.kinds", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small sizes, and no file written")
    quick = parser.parse_args().quick
    os.environ |= JAX_WITH_SWITCH
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[-1:])
    count = 1_000 if quick else 100_000
    steps = 10_000 if quick else 1_000_000
    rows: Table = [["ms", "morula", "peers", "peer / morula", "first call of morula, s", "peak of memory grew by, MB"]]
    for name, calls in (
        ("geometric Brownian motion, 256 paths, 100 steps, value and gradient", lambda: prices(256, 100)),
        (f"outer solar system, leapfrog, {steps} steps", lambda: planets(steps)),
        (f"outer solar system, leapfrog, {steps} steps, value and gradient", lambda: gradient_of_planets(steps)),
        ("Mackey-Glass, delay 17, to 500", lambda: delays(500.0)),
        (f"Lotka-Volterra, {count} parameters, own steps", lambda: ensembles(count)),
    ):
        print(name, "...", file=sys.stderr, flush=True)
        before = megabytes()
        first, seconds = seconds_of(calls(), 3)
        ours = seconds["morula"]
        peers = {peer: s for peer, s in seconds.items() if peer != "morula"}
        rows.append([
            name, f"{1e3 * ours:.4g}", "; ".join(f"{peer} {1e3 * s:.4g}" for peer, s in peers.items()),
            "; ".join(f"{s / ours:.2f}" for s in peers.values()), f"{first['morula']:.1f}", f"{megabytes() - before:.0f}",
        ])  # fmt: skip
        print(*rows[-1], sep="; ", file=sys.stderr, flush=True)
    text = "\n\n".join(
        [f"# Further kinds of equations, {date.today()}", machine() + "; one core; float64", markdown(rows)]
    )
    print(text)
    if not quick:
        path = RESULTS / f"ode-kinds-{date.today()}.md"
        path.write_text(text + "\n")
        print(f"written: {path}")


if __name__ == "__main__":
    main()
