"""The Taylor-series method: a method is its order, or the rule that the tolerance gives it."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, log


@dataclass(frozen=True)
class Taylor:
    """A Taylor-series method for ``odesolve``, of any order; its coefficients are found by Taylor mode (``morula.taylor``).

    name: what error messages call it. order: at least 2. is_by_tolerance: whether the order is the one that needs the least work
    at the tolerance, at most ``order``.

    Source: A. Jorba, M. Zou, A software package for the numerical integration of ODEs by means of high-order Taylor methods,
    Experimental Mathematics 14 (2005) 99.

    >>> Taylor("taylor20", 20).order_for(1e-6), TAYLOR.order_for(1e-6), TAYLOR.order_for(1e-15)
    (20, 8, 19)
    """

    name: str
    order: int
    is_by_tolerance: bool = False

    def __post_init__(self) -> None:
        if self.order < 2:
            raise ValueError(f"the order of {self.name} is {self.order}; expected at least 2")

    def order_for(self, tolerance: float) -> int:
        """Return the order at a relative tolerance: 1 - log(tolerance) / 2, as proposed in section 3.2.1 of the paper.

        Args:
            tolerance: the relative tolerance.

        Returns:
            The order.

        >>> TAYLOR.order_for(1e-10)
        13
        """
        if not self.is_by_tolerance:
            return self.order
        return min(max(ceil(1 - log(tolerance) / 2), 2), self.order)


TAYLOR = Taylor("taylor", 30, is_by_tolerance=True)
