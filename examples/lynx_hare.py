"""Learn the interaction of lynx and hare from the fur trade's books: a differential equation with a network inside.

The populations H and L (thousands of pelts) follow a universal differential equation,

    dH/dt =  a H - N1(H, L)        hares multiply, and are eaten
    dL/dt = -d L + N2(H, L)        lynx die, and multiply where there is prey

with unknown rates a and d and interactions given by a small neural network.  A classical Lotka-Volterra model, in which
N1 = b H L and N2 = c H L, is fitted first, and the hybrid starts from it: N1 = b H L exp(n1), N2 = c H L exp(n2), where
n = (n1, n2) is the network's output.  Thus the interaction vanishes with H or L, and a network with output zero gives
the classical model.  Both are fitted to all data at once, through the solver: the loss is the squared error of the
logarithms along one trajectory, plus penalties that keep the network's output small where the data do not need it.
The inverse of the Hessian of the classical model's negative log-likelihood is the covariance of its rates and start; with
the Jacobian of its solution it gives the bands of uncertainty.

Run: python examples/lynx_hare.py [picture.png]

Data: Hudson's Bay Company pelt returns, 1900 to 1920 (D. A. MacLulich, Fluctuations in the numbers of the varying hare,
1937; C. Elton and M. Nicholson, The ten-year cycle in numbers of the lynx in Canada, 1942), as tabulated by P. Howard
and copied in stan-dev/example-models, knitr/lotka-volterra/hudson-bay-lynx-hare.csv.
Method: C. Rackauckas et al., Universal Differential Equations for Scientific Machine Learning, arXiv:2001.04385 (2020).
"""

from __future__ import annotations

import sys
from time import perf_counter
from typing import Any

import numpy as np

import morula as mo
from morula.ml import Chain, Dense, adam, train
from morula.ode import IntegrationFailed, odesolve
from morula.optim import minimize

YEARS = np.arange(1900, 1921)
HARE = [30.0, 47.2, 70.2, 77.4, 36.3, 20.6, 18.1, 21.4, 22.0, 25.4, 27.1, 40.3, 57.0, 76.6, 52.3, 19.5, 11.2, 7.6, 14.6]
HARE += [16.2, 24.7]
LYNX = [4.0, 6.1, 9.8, 35.2, 59.4, 41.7, 19.0, 13.0, 8.3, 9.1, 7.4, 8.0, 12.3, 19.5, 45.7, 51.1, 29.7, 15.8, 9.7, 10.1]
LYNX += [8.6]

# The state is the logarithm of both populations in units of 20,000 pelts, so that it is of order one.
UNIT = 20.0
DATA = np.log(np.stack([HARE, LYNX], axis=1) / UNIT)
SIGN = np.array([1.0, -1.0])
HELD_OUT = 1916
ADAM_STEPS, BFGS_STEPS = 60, 100

# B. Carpenter, Predator-prey population dynamics: the Lotka-Volterra model in Stan (2018): posterior means.
PUBLISHED = {"a": 0.55, "b": 0.028, "d": 0.80, "c": 0.024}


def classical(t, y, p):
    """Lotka-Volterra in logarithms: (log H)' = a - b L and (log L)' = -d + c H."""
    return SIGN * (np.exp(p["rates"]) - np.exp(p["encounters"] + y[::-1]))


def hybrid(t, y, p):
    """The same, with the network's output added to the logarithms of b and c."""
    return SIGN * (np.exp(p["rates"]) - np.exp(p["encounters"] + y[::-1] + correction(p, y)))


def correction(p, y):
    """n(H, L), the logarithms of the ratio of learned to classical interaction, at states y (..., 2)."""
    # The states lie within +-1.5.  Scaled, they reach the nonlinear range of tanh, which conditions training far better.
    return p["network"](3.0 * y)


def trajectory(model, p, years):
    """The logarithms of both populations (m, 2) at the given years."""
    # Looser tolerances are cheaper, but then changes in the number of steps make the loss jump by more than a BFGS step gains.
    return odesolve(model, p["start"], years - YEARS[0], p, rtol=1e-5, atol=1e-5).y


@mo.jit
def misfit(p, model, years, data):
    return np.mean((trajectory(model, p, years) - data) ** 2)


@mo.jit
def penalised_misfit(p, reference, years, data):
    """The misfit, plus penalties on the deviation from the classical rates, the network's output and its weights.

    The factors of the three penalties were chosen from about twenty settings by their fits to 1900-1920 and by forecasts
    from shorter spans, 1900-1915 among them: the forecast is a check of the models, not a test on unseen data.
    """
    rates = np.sum((p["rates"] - reference["rates"]) ** 2) + np.sum((p["encounters"] - reference["encounters"]) ** 2)
    weights = sum(np.sum(layer.weights**2) for layer in p["network"].layers)
    try:
        fit = misfit(p, hybrid, years, data)
    except IntegrationFailed:
        # A long step of the line search may reach parameters whose populations explode; an infinite loss rejects it.
        return np.inf
    return fit + 0.3 * np.mean(correction(p, data) ** 2) + 2e-3 * rates + 2e-4 * weights


def fit_classical(years, data):
    start = {"rates": np.log([0.5, 0.8]), "encounters": np.log([0.5, 0.5]), "start": data[0]}
    return minimize(misfit, start, classical, years, data, tol=1e-6).x


def as_vector(p):
    return np.concatenate([p["rates"], p["encounters"], p["start"]])


def parts(v):
    return {"rates": v[:2], "encounters": v[2:4], "start": v[4:]}


def covariance(p):
    """The covariance (6, 6) of the classical model's parameters ``as_vector``: the inverse of the Hessian."""
    hessian = mo.jit(mo.hessian(lambda v: misfit(parts(v), classical, YEARS, DATA)))(as_vector(p))
    variance = misfit(p, classical, YEARS, DATA) * DATA.size / (DATA.size - 6)
    return np.linalg.inv(hessian * DATA.size / (2 * variance))


def spreads(p, years):
    """The standard deviations (m, 2) of the classical model's logarithms in the given years."""
    jacobian = mo.jit(mo.jacobian(lambda v: trajectory(classical, parts(v), years)))(as_vector(p))
    return np.sqrt(np.einsum("tci,ij,tcj->tc", jacobian, covariance(p), jacobian))


def fit_hybrid(reference, years, data):
    """The hybrid model, trained from the classical one by Adam, then BFGS; and the loss at each step."""
    rng = np.random.default_rng(0)
    last = Dense(8, 2, rng=rng)
    last.weights *= 0.0
    network = Chain(Dense(2, 8, np.tanh, rng=rng), Dense(8, 8, np.tanh, rng=rng), last)
    p, losses = train(
        penalised_misfit, {**reference, "network": network}, [(reference, years, data)] * ADAM_STEPS, adam(0.01)
    )

    def report(result):
        losses.append(result.value)
        if result.iterations % 20 == 0:
            print(f"  BFGS step {result.iterations:3d}: loss {result.value:.5f}")

    p = minimize(penalised_misfit, p, reference, years, data, tol=1e-4, max_iterations=BFGS_STEPS, callback=report).x
    return p, losses


def errors(models, years):
    """The root mean square error of the logarithms in the given years, for each (model, p)."""
    return [float(np.sqrt(np.mean((trajectory(model, p, YEARS) - DATA)[years] ** 2))) for model, p in models]


def rates(p) -> dict[str, float]:
    """a and d per year, b and c per year and thousand pelts."""
    (a, d), (b, c) = np.exp(p["rates"]), np.exp(p["encounters"]) / UNIT
    return {"a": a, "b": b, "d": d, "c": c}


def main(picture: str = "lynx_hare.png") -> None:
    began = perf_counter()
    print("Classical Lotka-Volterra, fitted to 1900-1920")
    reference = fit_classical(YEARS, DATA)
    print("Hybrid model, fitted to 1900-1920")
    p, losses = fit_hybrid(reference, YEARS, DATA)
    print(f"  loss {losses[0]:.5f} (classical) -> {losses[-1]:.5f} in {len(losses)} steps")

    early = YEARS < HELD_OUT
    print(f"Both again, fitted to 1900-{HELD_OUT - 1} alone, to forecast the rest")
    early_reference = fit_classical(YEARS[early], DATA[early])
    early_p, _ = fit_hybrid(early_reference, YEARS[early], DATA[early])

    print("\nFitted rates            a /yr   d /yr   b /yr/1000   c /yr/1000")
    for name, found in (
        ("Carpenter (2018)", PUBLISHED),
        ("classical", rates(reference)),
        ("hybrid", rates(p)),
    ):
        print(f"  {name:20}{found['a']:8.3f}{found['d']:8.3f}{found['b']:13.4f}{found['c']:13.4f}")
    uncertain = np.array(list(rates(reference).values())) * np.sqrt(np.diagonal(covariance(reference))[[0, 2, 1, 3]])
    print(f"  {'standard deviations':20}{uncertain[0]:8.3f}{uncertain[2]:8.3f}{uncertain[1]:13.4f}{uncertain[3]:13.4f}")
    print("  (of the classical fit, from the Hessian; of the hybrid, b and c are what its network multiplies)")
    print("\nError, root mean square of logarithms   classical   hybrid")
    models = ((classical, reference), (hybrid, p))
    early_models = ((classical, early_reference), (hybrid, early_p))
    for what, found in (
        ("fit, 1900-1920", errors(models, YEARS >= 1900)),
        (f"fit, 1900-{HELD_OUT - 1}", errors(early_models, early)),
        (f"forecast from it, {HELD_OUT}-1920", errors(early_models, ~early)),
    ):
        print(f"  {what:38}{found[0]:9.3f}{found[1]:9.3f}")
    print(f"  (of the years held out, the {'classical' if found[0] < found[1] else 'hybrid'} model forecasts better)")

    draw(picture, reference, p, losses, early_reference, early_p)
    print(f"\n{picture} written; {perf_counter() - began:.1f} s in all")


def draw(picture: str, reference: Any, p: Any, losses: list[float], early_reference: Any, early_p: Any) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, ((fit, interaction), (loss, forecast)) = plt.subplots(2, 2, figsize=(12, 8.5), layout="constrained")
    colours = ("tab:blue", "tab:red")
    names = ("hare", "lynx")

    def curves(axes, last, one, two):
        years = np.linspace(YEARS[0], last, 20 * (last - YEARS[0]) + 1)
        for model, q, style, label in ((hybrid, two, "-", "hybrid"), (classical, one, ":", "classical")):
            for y, colour, name in zip(UNIT * np.exp(trajectory(model, q, years).T), colours, names, strict=True):
                axes.plot(years, y, style, color=colour, label=f"{name}, {label}")

    for y, colour in zip(UNIT * np.exp(DATA.T), colours, strict=True):
        fit.plot(YEARS, y, "o", color=colour, markersize=5)
        forecast.plot(YEARS[YEARS < HELD_OUT], y[YEARS < HELD_OUT], "o", color=colour, markersize=5)
        forecast.plot(YEARS[YEARS >= HELD_OUT], y[YEARS >= HELD_OUT], "o", color=colour, markersize=6, mfc="white")
    curves(fit, 1920, reference, p)
    years = np.linspace(1900.0, 1920.0, 201)
    middle, spread = trajectory(classical, reference, years), spreads(reference, years)
    for i, colour in enumerate(colours):
        low, high = (UNIT * np.exp(middle[:, i] + sign * 1.96 * spread[:, i]) for sign in (-1, 1))
        fit.fill_between(years, low, high, color=colour, alpha=0.15, linewidth=0)
    fit.set(
        title="Fitted to 1900-1920 (dots: pelts; bands: 95%, classical)", ylabel="thousands of pelts", ylim=(0, 100)
    )
    fit.set_xticks(range(1900, 1921, 4))
    fit.legend(fontsize=8, ncols=2, loc="upper center")

    y = trajectory(hybrid, p, np.linspace(YEARS[0], YEARS[-1], 401))
    meetings = np.prod(UNIT * np.exp(y), axis=1)
    learned = np.exp(p["encounters"] + correction(p, y)).T / UNIT
    constant = np.exp(reference["encounters"]) / UNIT
    for i, (colour, name) in enumerate(zip(colours, ("N1 / HL, hares taken", "N2 / HL, lynx gained"), strict=True)):
        interaction.semilogx(meetings, learned[i], "-", color=colour, label=f"{name}: learned")
        interaction.axhline(constant[i], linestyle=":", color=colour, label=f"{name}: classical, {'bc'[i]}")
    interaction.set(
        title="Interaction per encounter, along the fitted cycles",
        xlabel="H L (thousands squared)",
        ylabel="per year and thousand",
        ylim=(0, 1.35 * learned.max()),
    )
    interaction.set_xticks([200, 500, 1000, 2000], labels=["200", "500", "1000", "2000"])
    interaction.minorticks_off()
    interaction.legend(fontsize=8, ncols=2, loc="upper center")

    loss.semilogy(losses)
    loss.axvline(ADAM_STEPS, color="grey", linewidth=0.8)
    loss.text(ADAM_STEPS - 2, max(losses), "Adam", ha="right", va="top")
    loss.text(ADAM_STEPS + 2, max(losses), "BFGS", ha="left", va="top")
    loss.set(title="Loss of the hybrid model; it starts at the classical fit", xlabel="step", ylabel="loss")

    curves(forecast, 1930, early_reference, early_p)
    forecast.axvspan(HELD_OUT - 0.5, 1930, color="0.93", zorder=0)
    forecast.set(
        title=f"Fitted to 1900-{HELD_OUT - 1}: forecast (open dots: not used)",
        ylabel="thousands of pelts",
        xlim=(1899, 1930),
        ylim=(0, 110),
    )
    figure.savefig(picture, dpi=120)


if __name__ == "__main__":
    main(*sys.argv[1:])
