"""Accurate end values, and gradients by the parameters, of all problems: ``python -m benchmarks.ode.reference [NAME ...]`` adds them.

The sensitivities solve the variational equations S' = (df/dy) S + df/dp, with derivatives of f by complex steps, which
are exact to rounding. SciPy's DOP853 and Radau solve them at tolerances of 1e-12 and 1e-10.

Source: J. N. Lyness, C. B. Moler, Numerical differentiation of analytic functions, SIAM J. Numer. Anal. 4 (1967) 202.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import numpy as np
import scipy.sparse
from scipy.integrate import solve_ivp

from .program import GROUPS, REFERENCES, Problem, problems

STEP = 1e-30


def sensitivities(problem: Problem) -> tuple[np.ndarray, np.ndarray]:
    """The end value (n,), and its derivatives by the parameters, (n, p)."""
    rate, n = problem.rate(np), len(problem.y0)
    sizes = [np.size(a) for a in problem.args]
    count = sum(sizes)

    def at(p: np.ndarray) -> tuple[Any, ...]:
        parts = np.split(p, np.cumsum(sizes)[:-1])
        return tuple(part.reshape(np.shape(a)) if np.ndim(a) else part[0] for part, a in zip(parts, problem.args))

    flat = np.concatenate([np.ravel(a) for a in problem.args]).astype(float)

    def augmented(t: float, z: np.ndarray) -> np.ndarray:
        y, s = z[:n], z[n:].reshape(count, n)
        turned = [rate(t, y + 1j * STEP * s[i], *at(flat + 1j * STEP * np.eye(count)[i])) for i in range(count)]
        return np.concatenate([rate(t, y, *problem.args), *(np.imag(v) / STEP for v in turned)])

    settings: dict[str, Any] = {"method": "DOP853", "rtol": 1e-12, "atol": 1e-14}
    if problem.method != "tsit5":
        settings = {"method": "Radau", "rtol": 1e-10, "atol": 1e-6 * problem.atol}
    if problem.bands:
        lower, upper = problem.bands
        offsets: Any = np.arange(-lower, upper + 1)
        near = scipy.sparse.diags_array([np.ones(n)] * len(offsets), offsets=offsets, shape=(n, n))
        settings["jac_sparsity"] = scipy.sparse.kron(np.ones((count + 1, count + 1)), near)
    z = solve_ivp(augmented, problem.span, np.append(problem.y0, np.zeros(n * count)), **settings).y[:, -1]
    return z[:n], z[n:].reshape(count, n).T


def main() -> None:
    names = sys.argv[1:]
    found: dict[str, Any] = json.loads(REFERENCES.read_text()) if REFERENCES.exists() else {}
    for group in GROUPS:
        for name, problem in problems(group).items():
            if (
                name in found
                or names
                and name not in names
                or problem.is_batch
                or problem.is_lockstep
                or len(problem.y0) > 300
            ):
                continue
            print(name, "...", file=sys.stderr, flush=True)
            end, slopes = sensitivities(problem)
            found[name] = {"end": end.tolist(), "gradient": (2 * end @ slopes).tolist()}
            REFERENCES.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
