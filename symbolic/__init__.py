"""SymPy's expressions as functions to differentiate and compile, and as the derivatives of other functions.

``function`` prints an expression as a plain NumPy and SciPy function.  ``rule`` gives a function, as of a library in C,
the derivative that an expression of its value or of its partial derivatives says.  SymPy is optional
(``pip install morula[symbolic]``) and is imported by the first call.
"""

from .functions import function
from .rules import rule

__all__ = ["function", "rule"]


def __dir__() -> list[str]:
    return sorted(__all__)
