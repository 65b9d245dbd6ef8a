"""Rules of ``scipy.special``: hypergeometric functions, elliptic integrals and orthogonal polynomials (DLMF 13 to 19)."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import special

from .bessel import weighted
from .table import elementwise, joint


def elliptic_partials(phi: Any, m: Any) -> tuple[Any, Any]:
    """The slopes in ``m`` of the incomplete integrals F and E (DLMF 19.4); NaN at m = 0, where they are 0/0."""
    f, e = special.ellipkinc(phi, m), special.ellipeinc(phi, m)
    root = np.sqrt(1 - m * np.sin(phi) ** 2)
    return (e / (1 - m) - f) / (2 * m) - np.sin(2 * phi) / (4 * (1 - m) * root), (e - f) / (2 * m)


def ellipj_pullback(dy: Any, y: Any, u: Any, m: Any) -> tuple[Any, Any]:
    """The pullback of Jacobi's sn, cn, dn and am; in ``m``, from F(am, m) = u."""
    sn, cn, dn, phi = y
    turn = -dn * elliptic_partials(phi, m)[0]
    return (
        weighted(dy, cn * dn, -sn * dn, -m * sn * cn, dn),
        weighted(dy, cn * turn, -sn * turn, -(0.5 * sn * sn + m * sn * cn * turn) / dn, turn),
    )


elementwise(special.ellipk, lambda y, m: np.pi / 8 * special.hyp2f1(0.5, 0.5, 2, m) / (1 - m))
elementwise(special.ellipkm1, lambda y, p: -np.pi / 8 * special.hyp2f1(0.5, 0.5, 2, 1 - p) / p)
elementwise(special.ellipe, lambda y, m: -np.pi / 8 * special.hyp2f1(0.5, 1.5, 2, m))
elementwise(
    special.ellipkinc,
    lambda y, phi, m: 1 / np.sqrt(1 - m * np.sin(phi) ** 2),
    lambda y, phi, m: elliptic_partials(phi, m)[0],
)
elementwise(
    special.ellipeinc,
    lambda y, phi, m: np.sqrt(1 - m * np.sin(phi) ** 2),
    lambda y, phi, m: elliptic_partials(phi, m)[1],
)
joint(special.ellipj, ellipj_pullback)

# Hypergeometric functions in their variable.
elementwise(special.hyp0f1, None, lambda y, v, z: special.hyp0f1(v + 1, z) / v)
elementwise(special.hyp1f1, None, None, lambda y, a, b, x: a / b * special.hyp1f1(a + 1, b + 1, x))
elementwise(special.hyperu, None, None, lambda y, a, b, x: -a * special.hyperu(a + 1, b + 1, x))
elementwise(special.hyp2f1, None, None, None, lambda y, a, b, c, z: a * b / c * special.hyp2f1(a + 1, b + 1, c + 1, z))
elementwise(special.wright_bessel, None, None, lambda y, a, b, x: special.wright_bessel(a, a + b, x))
if hasattr(special, "log_wright_bessel"):  # SciPy 1.14
    elementwise(
        special.log_wright_bessel, None, None, lambda y, a, b, x: np.exp(special.log_wright_bessel(a, a + b, x) - y)
    )

# Orthogonal polynomials in their variable (DLMF 18.9).  For n = 0, degree n - 1 is taken as 0.
elementwise(special.eval_jacobi, None, None, None, lambda y, n, a, b, x: (
    0.5 * (n != 0) * (n + a + b + 1) * special.eval_jacobi(n - 1 + (n == 0), a + 1, b + 1, x)
))  # fmt: skip
elementwise(
    special.eval_legendre,
    None,
    lambda y, n, x: 0.5 * (n != 0) * (n + 1) * special.eval_jacobi(n - 1 + (n == 0), 1, 1, x),
)
elementwise(
    special.eval_gegenbauer,
    None,
    None,
    lambda y, n, a, x: 2 * a * (n != 0) * special.eval_gegenbauer(n - 1 + (n == 0), a + 1, x),
)
elementwise(special.eval_chebyt, None, lambda y, n, x: n * special.eval_chebyu(n - 1 + (n == 0), x))
elementwise(special.eval_chebyu, None, lambda y, n, x: 2 * (n != 0) * special.eval_gegenbauer(n - 1 + (n == 0), 2, x))
elementwise(special.eval_chebyc, None, lambda y, n, x: n * special.eval_chebyu(n - 1 + (n == 0), 0.5 * x))
elementwise(
    special.eval_chebys, None, lambda y, n, x: 1.0 * (n != 0) * special.eval_gegenbauer(n - 1 + (n == 0), 2, 0.5 * x)
)
elementwise(special.eval_hermite, None, lambda y, n, x: 2 * n * special.eval_hermite(n - 1 + (n == 0), x))
elementwise(special.eval_hermitenorm, None, lambda y, n, x: n * special.eval_hermitenorm(n - 1 + (n == 0), x))
elementwise(
    special.eval_laguerre, None, lambda y, n, x: -1.0 * (n != 0) * special.eval_genlaguerre(n - 1 + (n == 0), 1, x)
)
elementwise(
    special.eval_genlaguerre,
    None,
    None,
    lambda y, n, a, x: -1.0 * (n != 0) * special.eval_genlaguerre(n - 1 + (n == 0), a + 1, x),
)
elementwise(
    special.eval_sh_legendre,
    None,
    lambda y, n, x: (n != 0) * (n + 1) * special.eval_jacobi(n - 1 + (n == 0), 1, 1, 2 * x - 1),
)
elementwise(special.eval_sh_chebyt, None, lambda y, n, x: 2 * n * special.eval_chebyu(n - 1 + (n == 0), 2 * x - 1))
elementwise(
    special.eval_sh_chebyu,
    None,
    lambda y, n, x: 4 * (n != 0) * special.eval_gegenbauer(n - 1 + (n == 0), 2, 2 * x - 1),
)
elementwise(
    special.eval_sh_jacobi,
    None,
    None,
    None,
    lambda y, n, p, q, x: n * special.eval_sh_jacobi(n - 1 + (n == 0), p + 2, q + 1, x),
)
elementwise(special.lpmv, None, None, lambda y, m, v, x: (
    (v * x * y - (v + m) * special.lpmv(m, v - 1, x)) / (x * x - 1)
))  # fmt: skip
