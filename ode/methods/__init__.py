"""The methods, as coefficients with the papers that they are from."""

from .dop853 import DOP853
from .low_order import BOSH3, EULER, HEUN, MIDPOINT, RALSTON, RK4
from .low_storage import CARPENTER_KENNEDY54, KENNEDY43, WILLIAMSON3
from .order5 import DOPRI5, TSIT5
from .tableau import Tableau, tableau
from .verner import VERN6, VERN7, VERN8, VERN9

METHODS = {
    m.name: m
    for m in (
        EULER, MIDPOINT, HEUN, RALSTON, RK4, BOSH3, DOPRI5, TSIT5, VERN6, VERN7, VERN8, DOP853, VERN9,
        WILLIAMSON3, CARPENTER_KENNEDY54, KENNEDY43,
    )
}  # fmt: skip
"""The name of a method -> its coefficients."""

__all__ = ["METHODS", "Tableau", "tableau"]
