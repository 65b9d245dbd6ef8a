"""How many of the problems of NIST, and of Moré, Garbow and Hillstrom, are solved from near and far starts.

Run alone: python -m benchmarks.optim.robustness
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from functools import cache
from statistics import mean, median
from typing import Any

import numpy as np

import morula as mo
from morula.optim import least_squares
from tests.optim.more_garbow_hillstrom import PROBLEMS
from tests.optim.test_nist import DATA, MODELS, digits

from ..report import Table, markdown
from .programs import MINPACK

Jacobian = Callable[[np.ndarray], np.ndarray]
Fit = Callable[[Any, Jacobian, np.ndarray], tuple[np.ndarray, int]]
"""Returns the answer and the number of evaluations, from residuals, their Jacobian and a start."""

SIX = 6.0
"""A regression counts as solved when its worst parameter agrees with the certified one to this number of digits."""


@cache
def slopes_of(r: Any) -> Jacobian:
    """The Jacobian of the residuals, compiled once for all fits, since most of the time would be spent in the eager one."""
    return mo.jit(mo.jacobian(r), target="native")


def ours(method: str) -> Fit:
    def fit(r: Any, slopes: Jacobian, start: np.ndarray) -> tuple[np.ndarray, int]:
        found = least_squares(r, start, method=method, jacobian=slopes)
        return found.x, found.evaluations

    return fit


def scipys(method: str) -> Fit:
    def fit(r: Any, slopes: Jacobian, start: np.ndarray) -> tuple[np.ndarray, int]:
        found = MINPACK(r, start, slopes, method=method, xtol=1e-14, ftol=1e-14, gtol=1e-14, max_nfev=2000)
        return found.x, found.nfev

    return fit


def scipys_differences(r: Any, slopes: Jacobian, start: np.ndarray) -> tuple[np.ndarray, int]:
    found = MINPACK(r, start, method="lm", xtol=1e-14, ftol=1e-14, gtol=1e-14, max_nfev=20_000)
    return found.x, found.nfev


OURS = "morula lm"
FITS: dict[str, Fit] = {
    OURS: ours("lm"),
    "morula dogleg": ours("dogleg"),
    "SciPy lm, exact Jacobian": scipys("lm"),
    "SciPy trf, exact Jacobian": scipys("trf"),
    "SciPy lm, differences": scipys_differences,
}


def tried(fit: Fit, r: Any, start: np.ndarray) -> tuple[np.ndarray, int] | None:
    """The answer, or None where the search raised an error."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            return fit(r, slopes_of(r), start)
        except (ValueError, ArithmeticError, mo.MorulaError, np.linalg.LinAlgError):
            return None


@cache
def misfits_of(name: str) -> Any:
    """The residuals of a regression, one function for all fits, so that their Jacobian is compiled once."""
    model, x, y = MODELS[name], np.array(DATA[name]["x"]), np.array(DATA[name]["y"])
    y = np.log(y) if name == "Nelson" else y
    return lambda b: model(b, x) - y


def regressions(fit: Fit) -> list[tuple[str, float, int]]:
    """The name, the digits of the worst parameter, and the evaluations of all 54 regressions."""
    found = []
    for name in MODELS:
        data = DATA[name]
        for start in ("start1", "start2"):
            answer = tried(fit, misfits_of(name), np.array(data[start]))
            found.append((name, digits(answer[0], data["certified"]) if answer else 0.0, answer[1] if answer else 0))
    return found


def minima(fit: Fit, factor: float) -> list[tuple[str, bool, int]]:
    """The name, whether a published minimum was reached, and the evaluations of the 35 problems from ``factor`` times their starts."""
    found = []
    for problem in PROBLEMS:
        start = problem.start * factor if np.any(problem.start) else problem.start + (factor - 1.0)
        answer = tried(fit, problem.residuals, start)
        with np.errstate(all="ignore"):
            value = np.sum(problem.residuals(answer[0]) ** 2) if answer else np.inf
        solved = any(abs(value - least) <= 1e-6 * max(least, 1e-4) for least in problem.minima)
        found.append((problem.name, solved, answer[1] if answer else 0))
    return found


def report() -> list[str]:
    """The sections of the report."""
    nist: Table = [
        ["", f"solved to {SIX:.0f} digits, of 54", "mean digits", "least digits", "evaluations, median", "not solved"]
    ]
    digits_of: Table = [["regression", "digits from the far start", "digits from the near start"]]
    for name, fit in FITS.items():
        print(name, "...", file=sys.stderr, flush=True)
        runs = regressions(fit)
        if name == OURS:
            digits_of += [[a[0], f"{a[1]:.1f}", f"{b[1]:.1f}"] for a, b in zip(runs[::2], runs[1::2])]
        missed = sorted({n for n, d, _ in runs if d < SIX})
        agreed = [d for _, d, _ in runs]
        nist.append(
            [
                name,
                str(sum(d >= SIX for d in agreed)),
                f"{mean(agreed):.1f}",
                f"{min(agreed):.1f}",
                f"{median(e for *_, e in runs):.0f}",
                ", ".join(missed),
            ]
        )
    mgh: Table = [["", "start, of 35", "10 times the start", "100 times", "not solved from 10 or 100 times"]]
    for name, fit in FITS.items():
        print(name, "...", file=sys.stderr, flush=True)
        by_factor = [minima(fit, factor) for factor in (1.0, 10.0, 100.0)]
        missed = sorted({n for found in by_factor[1:] for n, solved, _ in found if not solved})
        mgh.append([name, *(str(sum(s for _, s, _ in found)) for found in by_factor), ", ".join(missed)])
    return [
        "## Robustness",
        "The 27 nonlinear regressions of NIST from both starts; eleven digits are certified.",
        markdown(nist),
        "morula's Levenberg-Marquardt, the digits of the worst parameter:",
        markdown(digits_of),
        "The problems of Moré, Garbow and Hillstrom as least squares: a published minimum, local ones included, is reached.",
        markdown(mgh),
    ]


if __name__ == "__main__":
    print(*report(), sep="\n\n")
