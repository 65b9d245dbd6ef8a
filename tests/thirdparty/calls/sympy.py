"""Symbolic expressions printed as Python: functions whose source exists in memory only."""

from __future__ import annotations

import mpmath
import numpy as np
import sympy as sp

from thirdparty.harness import Call, Refused

DISTRIBUTION = "sympy"
FIELD = "computer algebra"

X, Y, Z = sp.symbols("x y z")
WAVE = sp.sin(X) * sp.exp(Y) / (1 + X**2) + sp.Piecewise((X, X > 0), (Y, True)) + sp.sqrt(X * X + Y * Y)
SPECIAL = [WAVE, sp.besselj(0, X), sp.erf(Y), sp.gamma(X)]
KINKED = [sp.Max(X, Y), sp.Abs(X - Y), sp.atan2(Y, X), sp.sign(X), sp.log(X)]

CALLS = {
    "numbers": Call(sp.lambdify((X, Y), sp.sin(X) * sp.exp(Y) / (1 + X**2), "math"), 0.7, 0.3),
    "arrays": Call(sp.lambdify((X, Y), WAVE, "numpy"), np.array([0.7, 1.2]), np.array([0.3, 0.2])),
    "special_functions": Call(sp.lambdify((X, Y), SPECIAL, "scipy"), 0.7, 0.3),
    "matrix": Call(sp.lambdify((X, Y), sp.Matrix([[X, Y], [X * Y, sp.cos(X)]]), "numpy"), 0.7, 0.3),
    "nested_arguments": Call(sp.lambdify(((X, Y), Z), X * Y + Z, "numpy"), (0.7, 0.3), 0.2),
    "common_subexpressions": Call(sp.lambdify((X, Y), KINKED, "numpy", cse=True), 0.7, 0.3),
    "symbolic_derivative": Call(sp.lambdify((X, Y), WAVE.diff(X), "numpy"), 0.7, 0.3),
}
REFUSED = {
    "substitution": Refused(
        "SymPy's numbers are stored as integers",
        "computed in integers",
        lambda x: float((X**2 + 1).subs(X, x)),
        1.5,
    ),
    "mpmath": Refused(
        "mpmath's numbers are stored as integers",
        "computed in integers",
        lambda x: float(mpmath.besselj(0, x)),
        1.5,
    ),
}
