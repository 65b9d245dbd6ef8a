"""Fit nonlinear models and compare with certified results: five of NIST's reference data sets, from their far starts.

The Jacobians come from the models' own source.  The output shows each parameter, NIST's certified value and the number of
digits in which they agree (eleven are certified), and the same for its standard deviation.

Data and certified values: NIST Statistical Reference Datasets, https://www.itl.nist.gov/div898/strd/nls/nls_main.shtml.

    python examples/nist_regression.py
"""

from __future__ import annotations

import numpy as np

import morula as mo


def misra1a(b, x):
    """Monomolecular adsorption of a dental material: volume against pressure."""
    return b[0] * (1 - np.exp(-b[1] * x))


def boxbod(b, x):
    """Biochemical oxygen demand against days of incubation; rated as higher difficulty, six observations."""
    return b[0] * (1 - np.exp(-b[1] * x))


def eckerle4(b, x):
    """Transmittance of a filter against wavelength; higher difficulty."""
    return b[0] / b[1] * np.exp(-0.5 * ((x - b[2]) / b[1]) ** 2)


def rat43(b, x):
    """Dry weight of onion bulbs against time; higher difficulty."""
    return b[0] / (1 + np.exp(b[1] - b[2] * x)) ** (1 / b[3])


def mgh09(b, x):
    """An enzyme's kinetics; higher difficulty, a valley that bends away to infinity."""
    return b[0] * (x**2 + x * b[1]) / (x**2 + x * b[2] + b[3])


# model, start, certified parameters, their standard deviations, x, y
PROBLEMS = [
    (
        misra1a,
        (500.0, 0.0001),
        (238.94212918, 0.00055015643181),
        (2.7070075241, 7.2668688436e-06),
        np.array([
            77.6, 114.9, 141.1, 190.8, 239.9, 289, 332.8, 378.4, 434.8, 477.3, 536.8, 593.1, 689.1, 760,
        ], float),
        np.array([
            10.07, 14.73, 17.94, 23.93, 29.61, 35.18, 40.02, 44.82, 50.76, 55.05, 61.01, 66.4, 75.47, 81.78,
        ], float),
    ),
    (
        boxbod,
        (1.0, 1.0),
        (213.80940889, 0.54723748542),
        (12.354515176, 0.10455993237),
        np.array([
            1, 2, 3, 5, 7, 10,
        ], float),
        np.array([
            109, 149, 149, 191, 213, 224,
        ], float),
    ),
    (
        eckerle4,
        (1.0, 10.0, 500.0),
        (1.5543827178, 4.0888321754, 451.54121844),
        (0.015408051163, 0.046803020753, 0.046800518816),
        np.array([
            400, 405, 410, 415, 420, 425, 430, 435, 436.5, 438, 439.5, 441, 442.5, 444, 445.5, 447, 448.5, 450, 451.5,
            453, 454.5, 456, 457.5, 459, 460.5, 462, 463.5, 465, 470, 475, 480, 485, 490, 495, 500,
        ], float),
        np.array([
            0.0001575, 0.0001699, 0.000235, 0.0003102, 0.0004917, 0.000871, 0.0017418, 0.00464, 0.0065895, 0.0097302,
            0.0149002, 0.023731, 0.0401683, 0.0712559, 0.1264458, 0.2073413, 0.2902366, 0.3445623, 0.3698049, 0.3668534,
            0.3106727, 0.2078154, 0.1164354, 0.0616764, 0.03372, 0.0194023, 0.0117831, 0.0074357, 0.0022732, 0.00088,
            0.0004579, 0.0002345, 0.0001586, 0.0001143, 7.1e-05,
        ], float),
    ),
    (
        rat43,
        (100.0, 10.0, 1.0, 1.0),
        (699.6415127, 5.2771253025, 0.75962938329, 1.2792483859),
        (16.302297817, 2.0828735829, 0.19566123451, 0.68761936385),
        np.array([
            1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15,
        ], float),
        np.array([
            16.08, 33.83, 65.8, 97.2, 191.55, 326.2, 386.87, 520.53, 590.03, 651.92, 724.93, 699.56, 689.96, 637.56,
            717.41,
        ], float),
    ),
    (
        mgh09,
        (25.0, 39.0, 41.5, 39.0),
        (0.19280693458, 0.19128232873, 0.12305650693, 0.13606233068),
        (0.011435312227, 0.19633220911, 0.080842031232, 0.090025542308),
        np.array([
            4, 2, 1, 0.5, 0.25, 0.167, 0.125, 0.1, 0.0833, 0.0714, 0.0625,
        ], float),
        np.array([
            0.1957, 0.1947, 0.1735, 0.16, 0.0844, 0.0627, 0.0456, 0.0342, 0.0323, 0.0235, 0.0246,
        ], float),
    ),
]  # fmt: skip


def digits(found: float, certified: float) -> float:
    """The number of digits in which two numbers agree, at most the eleven that are certified."""
    return min(11.0, -np.log10(max(abs(found - certified) / abs(certified), 1e-11)))


def main() -> None:
    worst = 11.0
    for model, start, certified, deviations, x, y in PROBLEMS:
        fit = mo.optim.least_squares(lambda b, model=model, x=x, y=y: model(b, x) - y, np.array(start))
        print(f"\n{model.__name__}: {model.__doc__}")
        print(f"  {fit.message}, after {fit.iterations} steps; residual sum of squares {fit.rss:.10e}")
        print(
            f"  {'found':>17} {'certified':>17} {'digits':>6}   {'std. deviation':>16} {'certified':>16} {'digits':>6}"
        )
        for found, true, sd, true_sd in zip(fit.x, certified, fit.standard_deviations, deviations):
            agree, agree_sd = digits(found, true), digits(sd, true_sd)
            worst = min(worst, agree, agree_sd)
            print(f"  {found:17.10e} {true:17.10e} {agree:6.1f}   {sd:16.9e} {true_sd:16.9e} {agree_sd:6.1f}")
    print(f"\nAll parameters and standard deviations agree to {worst:.1f} digits or more.")


if __name__ == "__main__":
    main()
