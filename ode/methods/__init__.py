"""The methods, as coefficients with the papers that they are from."""

from .additive import ADDITIVE, AdditiveTableau, additive
from .dop853 import DOP853
from .esdirk import (
    IMPLICIT_EULER,
    KENCARP3,
    KENCARP4,
    KENCARP5,
    KVAERNO3,
    KVAERNO4,
    KVAERNO5,
    TRAPEZOID,
    TRBDF2,
    EsdirkTableau,
)
from .exponential import EXPRB32, EXPRB43, ExponentialTableau, exponential
from .extrapolation import GBS, Extrapolation
from .gauss import GAUSS4, GAUSS6, IMPLICIT_MIDPOINT, GaussTableau
from .low_order import BOSH3, EULER, HEUN, MIDPOINT, RALSTON, RK4
from .low_storage import CALVO64, CARPENTER_KENNEDY54, KENNEDY43, KENNEDY54, WILLIAMSON3
from .multistep import ADAMS, BDF, Multistep
from .nystrom import DPRKN6, DPRKN8, NystromTableau, nystrom
from .order5 import DOPRI5, TSIT5
from .radau import RADAU, RADAU5, RADAU9, RADAU13, RadauFamily, RadauTableau
from .rosenbrock import RODAS4, RODAS5P, ROS3P, ROS34PW2, ROSENBROCK23, RosenbrockTableau
from .switching import AUTO, Switching
from .tableau import Tableau, tableau
from .taylor import TAYLOR, Taylor
from .verner import VERN6, VERN7, VERN8, VERN9

Method = (
    Tableau
    | RosenbrockTableau
    | EsdirkTableau
    | RadauTableau
    | RadauFamily
    | GaussTableau
    | NystromTableau
    | AdditiveTableau
    | ExponentialTableau
    | Multistep
    | Extrapolation
    | Switching
    | Taylor
)

METHODS: dict[str, Method] = {
    m.name: m
    for m in (
        EULER, MIDPOINT, HEUN, RALSTON, RK4, BOSH3, DOPRI5, TSIT5, VERN6, VERN7, VERN8, DOP853, VERN9,
        WILLIAMSON3, CARPENTER_KENNEDY54, CALVO64, KENNEDY43, KENNEDY54, ROSENBROCK23, ROS3P, ROS34PW2, RODAS4, RODAS5P,
        IMPLICIT_EULER, TRAPEZOID, TRBDF2, KVAERNO3, KVAERNO4, KVAERNO5, KENCARP3, KENCARP4, KENCARP5,
        RADAU, RADAU5, RADAU9, RADAU13, IMPLICIT_MIDPOINT, GAUSS4, GAUSS6, DPRKN6, DPRKN8, EXPRB32, EXPRB43, ADAMS, GBS, TAYLOR, BDF, AUTO,
    )
}  # fmt: skip
"""The name of a method -> its coefficients."""


def is_implicit(method: Method) -> bool:
    """Return whether a method solves equations at each step, with the Jacobian of f.

    >>> is_implicit(BDF), is_implicit(ADAMS)
    (True, False)
    """
    return (
        method.is_stiff
        if isinstance(method, Multistep)
        else not isinstance(method, (Tableau, NystromTableau, Taylor, Extrapolation))
    )


__all__ = [
    "ADDITIVE",
    "METHODS",
    "AdditiveTableau",
    "EsdirkTableau",
    "ExponentialTableau",
    "Extrapolation",
    "GaussTableau",
    "Method",
    "Multistep",
    "NystromTableau",
    "RadauFamily",
    "RadauTableau",
    "RosenbrockTableau",
    "Tableau",
    "Taylor",
    "additive",
    "exponential",
    "is_implicit",
    "nystrom",
    "tableau",
]
