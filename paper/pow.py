"""A power by a while loop: a loop whose length is known only as it runs, and an argument that is overwritten.

Source: M. Innes, Zygote slides (2018), after "Don't Unroll Adjoint: Differentiating SSA-Form Programs",
arXiv:1810.07951.
"""

from __future__ import annotations

from figures import compare

import morula as mo


def pow(x, n):
    r = 1
    while n > 0:
        n -= 1
        r *= x
    return r


if __name__ == "__main__":
    compare(
        "A power by a while loop",
        ("pow(5, 3)", 125, pow(5, 3)),
        ("gradient(pow, 5, 3)", (75, 0), mo.gradient(pow, 5, 3)),
    )
    mo.show(pow)
