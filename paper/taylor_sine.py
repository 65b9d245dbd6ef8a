"""The sine by its Taylor series, with a loop, branches and an early return: its derivative is the cosine.

Source: M. Innes et al., "A Differentiable Programming System to Bridge Machine Learning and Scientific Computing",
arXiv:1907.07587, section 2.
"""

from __future__ import annotations

from math import cos, factorial

from figures import compare

import morula as mo


def s(x):
    t = 0.0
    sign = -1.0
    for i in range(1, 20):
        if i % 2 == 1:
            newterm = x**i / factorial(i)
            if abs(newterm) < 1e-8:
                return t
            sign = -sign
            t += sign * newterm
    return t


if __name__ == "__main__":
    (slope,) = mo.gradient(s, 1.0)
    compare("The sine by its Taylor series", ("s'(1)", 0.5403023037918872, slope))
    print(f"  cos(1) = {cos(1.0)!r}; the series, and with it its derivative, stops at terms under 1e-8")
