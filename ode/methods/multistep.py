"""Multistep methods of variable order and variable step: a method is its family and its highest order.

Both families keep the scaled divided differences of the last values (Krogh's and Shampine's modified divided differences),
so their coefficients are those of the steps that were taken, and a change of the step size costs nothing.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Multistep:
    """A multistep method for ``odesolve``; it chooses its order at each step, from 1 to ``order``.

    >>> Multistep("bdf2", is_stiff=True, order=2).order
    2
    """

    name: str
    is_stiff: bool
    """Whether it is the backward differentiation formula, for stiff problems; else the pair of Adams formulas."""
    order: int
    """The highest order, at most 5 for the backward differentiation formula and 12 for the Adams formulas."""

    def __post_init__(self) -> None:
        most = 5 if self.is_stiff else 12
        if not 1 <= self.order <= most:
            raise ValueError(f"the order of {self.name} is {self.order}; expected 1 to {most}")


# C. W. Gear, Numerical Initial Value Problems in Ordinary Differential Equations (1971), with the coefficients of unequal
# steps: R. K. Brayton, F. G. Gustavson, G. D. Hachtel, Proc. IEEE 60 (1972) 98.
BDF = Multistep("bdf", True, 5)

# L. F. Shampine, M. K. Gordon, Computer Solution of Ordinary Differential Equations (1975): predict, evaluate, correct,
# evaluate, with local extrapolation.
ADAMS = Multistep("adams", False, 12)
