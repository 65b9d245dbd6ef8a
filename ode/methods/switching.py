"""A pair of methods, of which the solve uses the explicit one until the problem turns out to be stiff, and the other way round."""

from __future__ import annotations

from dataclasses import dataclass

from .order5 import TSIT5
from .rosenbrock import RODAS5P, RosenbrockTableau
from .tableau import Tableau


@dataclass(frozen=True, eq=False)
class Switching:
    """An explicit method and one for stiff problems, for a solve that switches between them.

    The dense outputs of both must have the same degree, and the two last stages of the explicit method must be at the end
    of the step: their difference tells the stiffness.

    >>> AUTO.explicit.name, AUTO.stiff.name
    ('tsit5', 'rodas5p')
    """

    name: str
    explicit: Tableau
    stiff: RosenbrockTableau
    boundary: float
    """The extent of the explicit method's region of stability along the negative real axis."""

    @property
    def order(self) -> int:
        """The lower order of the two."""
        return min(self.explicit.order, self.stiff.order)


AUTO = Switching("auto", TSIT5, RODAS5P, 3.5)
