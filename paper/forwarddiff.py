"""Mixed mode: one call inside a reverse-mode gradient is differentiated forward.

What the function closes over gets no gradient from it, so all that is to be differentiated is passed as its argument.
Source: Zygote.jl, documentation of ``forwarddiff``.
"""

from __future__ import annotations

import numpy as np
from figures import compare

import morula as mo


def pow(x, n):
    r = 1
    for _ in range(n):
        r *= x
    return r


def product(ab):
    return ab[0] * ab[1]


if __name__ == "__main__":
    compare(
        "Forward mode inside reverse mode",
        ("gradient(x -> forwarddiff(x -> pow(x, 2), x), 5)", (10,),
         mo.gradient(lambda x: mo.forwarddiff(lambda x: pow(x, 2), x), 5)),
        ("gradient((a, b) -> forwarddiff(a * b), 2, 3)", (3.0, 2.0),
         mo.gradient(lambda a, b: mo.forwarddiff(product, np.array([a, b])), 2.0, 3.0)),
    )  # fmt: skip
