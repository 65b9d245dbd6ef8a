"""Additive Runge-Kutta methods for y' = f_stiff + f_nonstiff: an ESDIRK method for the one part, an explicit one for the other.

Stage i solves u_i = y + h sum_(j < i) (a_ij k_j + e_ij l_j) + h gamma f_stiff(t + c_i h, u_i), with the slopes k of the stiff and l of
the other part, so that Newton's method needs the Jacobian of the stiff part only.

Source: C. A. Kennedy, M. H. Carpenter, Additive Runge-Kutta schemes for convection-diffusion-reaction equations, Appl. Numer.
Math. 44 (2003) 139; U. M. Ascher, S. J. Ruuth, R. J. Spiteri, Appl. Numer. Math. 25 (1997) 151, for the method of order 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .esdirk import IMPLICIT_EULER, KENCARP3, KENCARP4, KENCARP5, EsdirkTableau


@dataclass(frozen=True, eq=False)
class AdditiveTableau:
    """An additive method of s stages; ``additive`` makes it."""

    implicit: EsdirkTableau
    """The method of the stiff part."""
    explicit: NDArray[np.float64]
    """(s, s): the strictly lower triangular matrix of the other part."""
    weights: NDArray[np.float64]
    """(s,): the weights of the other part in the step."""
    explicit_error: NDArray[np.float64]
    """(s,): the weights of the other part in the error estimate."""

    @property
    def name(self) -> str:
        """The name of the implicit method."""
        return self.implicit.name

    @property
    def order(self) -> int:
        """The order of convergence."""
        return self.implicit.order

    @property
    def error(self) -> NDArray[np.float64]:
        """(s,): the weights of the stiff part in the error estimate."""
        return self.implicit.error


def additive(
    implicit: EsdirkTableau,
    explicit: Sequence[Sequence[float]],
    weights: Sequence[float] | None = None,
    error: Sequence[float] | None = None,
) -> AdditiveTableau:
    """Make an ``AdditiveTableau``.

    Args:
        implicit: the method of the stiff part.
        explicit: the rows of the second and later stages of the explicit method, left of the diagonal.
        weights, error: (s,) its weights in the step and in the error estimate; those of the implicit method by default.

    Returns:
        A method for ``odesolve`` with a ``Split``.

    >>> additive(IMPLICIT_EULER, [[1]], weights=[1, 0], error=[0.5, -0.5]).explicit.tolist()
    [[0.0, 0.0], [1.0, 0.0]]
    """
    s = len(implicit.c)
    matrix = np.zeros((s, s))
    for i, row in enumerate(explicit):
        matrix[i + 1, : len(row)] = row
    own = np.append(implicit.a[-1, :-1], implicit.gamma)
    return AdditiveTableau(
        implicit,
        matrix,
        own if weights is None else np.array(weights, dtype=float),
        implicit.error if error is None else np.array(error, dtype=float),
    )


ADDITIVE = {
    method.name: method
    for method in (
        additive(IMPLICIT_EULER, [[1]], weights=[1, 0], error=[0.5, -0.5]),
        # ARK3(2)4L[2]SA.
        additive(KENCARP3, [
            [1767732205903 / 2027836641118],
            [5535828885825 / 10492691773637, 788022342437 / 10882634858940],
            [6485989280629 / 16251701735622, -4246266847089 / 9704473918619, 10755448449292 / 10357097424841],
        ]),
        # ARK4(3)6L[2]SA.
        additive(KENCARP4, [
            [1 / 2],
            [13861 / 62500, 6889 / 62500],
            [-116923316275 / 2393684061468, -2731218467317 / 15368042101831, 9408046702089 / 11113171139209],
            [-451086348788 / 2902428689909, -2682348792572 / 7519795681897, 12662868775082 / 11960479115383,
             3355817975965 / 11060851509271],
            [647845179188 / 3216320057751, 73281519250 / 8382639484533, 552539513391 / 3454668386233,
             3354512671639 / 8306763924573, 4040 / 17871],
        ]),
        # ARK5(4)8L[2]SA.
        additive(KENCARP5, [
            [41 / 100],
            [367902744464 / 2072280473677, 677623207551 / 8224143866563],
            [1268023523408 / 10340822734521, 0, 1029933939417 / 13636558850479],
            [14463281900351 / 6315353703477, 0, 66114435211212 / 5879490589093, -54053170152839 / 4284798021562],
            [14090043504691 / 34967701212078, 0, 15191511035443 / 11219624916014, -18461159152457 / 12425892160975,
             -281667163811 / 9011619295870],
            [19230459214898 / 13134317526959, 0, 21275331358303 / 2942455364971, -38145345988419 / 4862620318723,
             -1 / 8, -1 / 8],
            [-19977161125411 / 11928030595625, 0, -40795976796054 / 6384907823539, 177454434618887 / 12078138498510,
             782672205425 / 8267701900261, -69563011059811 / 9646580694205, 7356628210526 / 4942186776405],
        ]),
    )
}  # fmt: skip
"""The name of an ESDIRK method -> the additive method that has it for the stiff part."""
