"""Explicit Runge-Kutta methods of order 1 to 4."""

from __future__ import annotations

from .tableau import tableau

EULER = tableau("euler", 1, stages=[[1, 1]])

# Runge 1895; the error estimate is the difference from Euler's method.
MIDPOINT = tableau(
    "midpoint", 2,
    stages=[[1 / 2, 1 / 2],
            [1, 0, 1]],
    error=[[-1, 1, 0]],
)  # fmt: skip

# Heun 1900 (the explicit trapezoidal rule), with Euler's method embedded.
HEUN = tableau(
    "heun", 2,
    stages=[[1, 1],
            [1, 1 / 2, 1 / 2]],
    error=[[-1 / 2, 1 / 2, 0]],
)  # fmt: skip

# A. Ralston, Runge-Kutta methods with minimum error bounds, Math. Comp. 16 (1962) 431, with Euler's method embedded.
RALSTON = tableau(
    "ralston", 2,
    stages=[[2 / 3, 2 / 3],
            [1, 1 / 4, 3 / 4]],
    error=[[-3 / 4, 3 / 4, 0]],
)  # fmt: skip

# Kutta 1901.
RK4 = tableau(
    "rk4", 4,
    stages=[[1 / 2, 1 / 2],
            [1 / 2, 0, 1 / 2],
            [1, 0, 0, 1],
            [1, 1 / 6, 1 / 3, 1 / 3, 1 / 6]],
)  # fmt: skip

# P. Bogacki, L. F. Shampine, A 3(2) pair of Runge-Kutta formulas, Appl. Math. Lett. 2 (1989) 321.
BOSH3 = tableau(
    "bosh3", 3,
    stages=[[1 / 2, 1 / 2],
            [3 / 4, 0, 3 / 4],
            [1, 2 / 9, 1 / 3, 4 / 9]],
    error=[[2 / 9 - 7 / 24, 1 / 3 - 1 / 4, 4 / 9 - 1 / 3, -1 / 8]],
)  # fmt: skip
