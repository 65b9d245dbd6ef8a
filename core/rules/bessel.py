"""Rules of ``scipy.special``: Bessel and related functions, in their argument (DLMF 9 to 12).

The order has no derivative here, because no closed form is known.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import special

from .table import elementwise, joint, vjp


def weighted(dy: tuple[Any, ...], *slopes: Any) -> Any:
    """The cotangent of the variable of a function with several results, from the slope of each."""
    total = 0.0
    for d, slope in zip(dy, slopes):
        if d is not None:
            total = total + d * np.conj(slope)
    return total


def scaled_pullback(dy: Any, y: Any, slope: Any, z: Any, along: Any) -> Any:
    """The pullback of a function scaled by exp(-|Re(along z)|), which is not holomorphic, from its unscaled slope."""
    direction = np.sign(np.real(along * z)) * np.conj(along)
    return dy * np.conj(slope) - direction * np.real(dy * np.conj(y))


def struve_power(v: Any, x: Any) -> Any:
    """The inhomogeneous term of the Struve functions' recurrences (DLMF 11.4.25)."""
    return np.power(0.5 * x, v) * special.rgamma(v + 1.5) / 1.772453850905516


def spherical_slope(f: Any, n: Any, z: Any, derivative: Any, sign: int) -> Any:
    """The slope of a spherical Bessel function, or of its derivative, by the differential equation (DLMF 10.47)."""
    if not derivative:
        return f(n, z, True)
    return -2 / z * f(n, z, True) + (n * (n + 1) / (z * z) + sign) * f(n, z)


elementwise(special.j0, lambda y, x: -special.j1(x), finite=True)
elementwise(special.j1, lambda y, x: 0.5 * (special.j0(x) - special.jv(2, x)), finite=True)
elementwise(special.y0, lambda y, x: -special.y1(x))
elementwise(special.y1, lambda y, x: 0.5 * (special.y0(x) - special.yv(2, x)))
elementwise(special.i0, lambda y, x: special.i1(x), finite=True)
elementwise(special.i1, lambda y, x: 0.5 * (special.i0(x) + special.iv(2, x)), finite=True)
elementwise(special.k0, lambda y, x: -special.k1(x))
elementwise(special.k1, lambda y, x: -0.5 * (special.k0(x) + special.kv(2, x)))
elementwise(special.i0e, lambda y, x: special.i1e(x) - np.sign(x) * y, finite=True)
elementwise(special.i1e, lambda y, x: 0.5 * (special.i0e(x) + special.ive(2, x)) - np.sign(x) * y, finite=True)
elementwise(special.k0e, lambda y, x: y - special.k1e(x))
elementwise(special.k1e, lambda y, x: y - 0.5 * (special.k0e(x) + special.kve(2, x)))

elementwise(special.jv, None, lambda y, v, z: 0.5 * (special.jv(v - 1, z) - special.jv(v + 1, z)))
elementwise((special.yv, special.yn), None, lambda y, v, z: 0.5 * (special.yv(v - 1, z) - special.yv(v + 1, z)))
elementwise(special.iv, None, lambda y, v, z: 0.5 * (special.iv(v - 1, z) + special.iv(v + 1, z)))
elementwise((special.kv, special.kn), None, lambda y, v, z: -0.5 * (special.kv(v - 1, z) + special.kv(v + 1, z)))
elementwise(special.kve, None, lambda y, v, z: y - 0.5 * (special.kve(v - 1, z) + special.kve(v + 1, z)))
elementwise(special.hankel1, None, lambda y, v, z: 0.5 * (special.hankel1(v - 1, z) - special.hankel1(v + 1, z)))
elementwise(special.hankel2, None, lambda y, v, z: 0.5 * (special.hankel2(v - 1, z) - special.hankel2(v + 1, z)))
elementwise(
    special.hankel1e, None, lambda y, v, z: 0.5 * (special.hankel1e(v - 1, z) - special.hankel1e(v + 1, z)) - 1j * y
)
elementwise(
    special.hankel2e, None, lambda y, v, z: 0.5 * (special.hankel2e(v - 1, z) - special.hankel2e(v + 1, z)) + 1j * y
)
vjp(
    special.ive,
    None,
    lambda dy, y, v, z: scaled_pullback(dy, y, 0.5 * (special.ive(v - 1, z) + special.ive(v + 1, z)), z, 1),
)
vjp(
    special.jve,
    None,
    lambda dy, y, v, z: scaled_pullback(dy, y, 0.5 * (special.jve(v - 1, z) - special.jve(v + 1, z)), z, 1j),
)
vjp(
    special.yve,
    None,
    lambda dy, y, v, z: scaled_pullback(dy, y, 0.5 * (special.yve(v - 1, z) - special.yve(v + 1, z)), z, 1j),
)
vjp(special.jvp, None, lambda dy, y, v, z, n=1: dy * np.conj(special.jvp(v, z, n + 1)))
vjp(special.yvp, None, lambda dy, y, v, z, n=1: dy * np.conj(special.yvp(v, z, n + 1)))
vjp(special.ivp, None, lambda dy, y, v, z, n=1: dy * np.conj(special.ivp(v, z, n + 1)))
vjp(special.kvp, None, lambda dy, y, v, z, n=1: dy * np.conj(special.kvp(v, z, n + 1)))
vjp(special.h1vp, None, lambda dy, y, v, z, n=1: dy * np.conj(special.h1vp(v, z, n + 1)))
vjp(special.h2vp, None, lambda dy, y, v, z, n=1: dy * np.conj(special.h2vp(v, z, n + 1)))
vjp(special.spherical_jn, None, lambda dy, y, n, z, derivative=False: (
    dy * np.conj(spherical_slope(special.spherical_jn, n, z, derivative, -1))
))  # fmt: skip
vjp(special.spherical_yn, None, lambda dy, y, n, z, derivative=False: (
    dy * np.conj(spherical_slope(special.spherical_yn, n, z, derivative, -1))
))  # fmt: skip
vjp(special.spherical_in, None, lambda dy, y, n, z, derivative=False: (
    dy * np.conj(spherical_slope(special.spherical_in, n, z, derivative, 1))
))  # fmt: skip
vjp(special.spherical_kn, None, lambda dy, y, n, z, derivative=False: (
    dy * np.conj(spherical_slope(special.spherical_kn, n, z, derivative, 1))
))  # fmt: skip

elementwise(
    special.struve,
    None,
    lambda y, v, x: 0.5 * (special.struve(v - 1, x) - special.struve(v + 1, x) + struve_power(v, x)),
)
elementwise(
    special.modstruve,
    None,
    lambda y, v, x: 0.5 * (special.modstruve(v - 1, x) + special.modstruve(v + 1, x) + struve_power(v, x)),
)
joint(special.airy, lambda dy, y, z: (weighted(dy, y[1], z * y[0], y[3], z * y[2]),))
joint(special.itairy, lambda dy, y, x: (
    weighted(dy, special.airy(x)[0], special.airy(x)[2], special.airy(-x)[0], special.airy(-x)[2]),
))  # fmt: skip
joint(special.itj0y0, lambda dy, y, x: (weighted(dy, special.j0(x), special.y0(x)),))
joint(special.iti0k0, lambda dy, y, x: (weighted(dy, special.i0(x), special.k0(x)),))
joint(special.it2j0y0, lambda dy, y, x: (weighted(dy, (1 - special.j0(x)) / x, -special.y0(x) / x),))
joint(special.it2i0k0, lambda dy, y, x: (weighted(dy, (special.i0(x) - 1) / x, -special.k0(x) / x),))
elementwise(special.itstruve0, lambda y, x: special.struve(0, x), finite=True)
elementwise(special.itmodstruve0, lambda y, x: special.modstruve(0, x), finite=True)
elementwise(special.it2struve0, lambda y, x: -special.struve(0, x) / x)

# Kelvin's functions solve f'' = i f - f'/x, with f = ber + i bei and f = ker + i kei (DLMF 10.61).
elementwise(special.ber, lambda y, x: special.berp(x), finite=True)
elementwise(special.bei, lambda y, x: special.beip(x), finite=True)
elementwise(special.ker, lambda y, x: special.kerp(x))
elementwise(special.kei, lambda y, x: special.keip(x))
elementwise(special.berp, lambda y, x: -y / x - special.bei(x))
elementwise(special.beip, lambda y, x: -y / x + special.ber(x))
elementwise(special.kerp, lambda y, x: -y / x - special.kei(x))
elementwise(special.keip, lambda y, x: -y / x + special.ker(x))

# Parabolic cylinder functions return w and w', which solve w'' = (x^2/4 - v - 1/2) w, and w'' = (a - x^2/4) w.
vjp(special.pbdv, None, lambda dy, y, v, x: weighted(dy, y[1], (0.25 * x * x - v - 0.5) * y[0]))
vjp(special.pbvv, None, lambda dy, y, v, x: weighted(dy, y[1], (0.25 * x * x - v - 0.5) * y[0]))
vjp(special.pbwa, None, lambda dy, y, a, x: weighted(dy, y[1], (a - 0.25 * x * x) * y[0]))
