"""Functions of matrices that are known by their products: traces, log-determinants, f(A) b and exp(A) b.

Random probes come from morula's counter-based generator: the same key gives the same estimate on every path.
"""

from .exponential import expm_multiply
from .krylov_functions import arnoldi, function_times_vector, hermitian_function, lanczos
from .quadrature import logdet, trace_of_function
from .traces import Estimate, hutchinson, hutchpp, xtrace

__all__ = [
    "Estimate",
    "arnoldi",
    "expm_multiply",
    "function_times_vector",
    "hermitian_function",
    "hutchinson",
    "hutchpp",
    "lanczos",
    "logdet",
    "trace_of_function",
    "xtrace",
]


def __dir__() -> list[str]:
    return sorted(__all__)
