"""Initial-value problems of ordinary differential equations.

    solution = odesolve(lambda t, y, k: -k * y, y0, ts, k)      # solution.y[i] is y(ts[i])

Reading order: ``methods`` holds the methods as data; ``steppers`` makes a step of each family of them, with ``newton`` and
``jacobians`` for implicit ones; ``loop`` runs the steps of any, with the sizes that ``control`` chooses and the ``events``
that it watches; ``problem`` and ``state`` present the user's f and its structure of numbers as a function of a vector;
``solve`` checks the arguments (``arguments``) and returns a ``Solution``, with its ``dense_output``; ``ending`` makes it, and refuses
derivatives with respect to what only chooses the steps; ``progress`` reports while it runs.
"""

from typing import TYPE_CHECKING, Any

from .adjoints import ADJOINTS, Adjoint
from .consistency import consistent_start
from .control import CONTROLS, StepControl
from .controlled import cdesolve, control_path
from .dense_output import DenseOutput
from .events import Event
from .exponential import etdrk4
from .jacobians import jacobian_pattern, krylov_jacobian
from .jumps import Jump, jumpsolve
from .lie_groups import COMMUTATOR_FREE, CommutatorFree, lie_steps, magnus, rotation
from .methods import METHODS, Multistep
from .methods.additive import AdditiveTableau, additive
from .methods.esdirk import EsdirkTableau, esdirk
from .methods.exponential import ExponentialTableau, exponential
from .methods.extrapolation import Extrapolation, extrapolation
from .methods.nystrom import NystromTableau, nystrom
from .methods.rosenbrock import RosenbrockTableau, rosenbrock
from .methods.tableau import Tableau, tableau
from .methods.taylor import Taylor
from .second_order import SecondOrder
from .solution import Happened, IntegrationFailed, Solution, Stats, Status
from .solve import odesolve
from .split_sides import Split
from .splitting import SPLITTINGS, Splitting, Trajectory, compose, split, symplectic
from .steady import SteadyState, SteadyStateFailed, steady_state

if TYPE_CHECKING:
    from .ensembles import ensemble

__all__ = [
    "ADJOINTS",
    "CONTROLS",
    "METHODS",
    "SPLITTINGS",
    "COMMUTATOR_FREE",
    "AdditiveTableau",
    "Adjoint",
    "CommutatorFree",
    "DenseOutput",
    "EsdirkTableau",
    "Event",
    "ExponentialTableau",
    "Extrapolation",
    "Happened",
    "Jump",
    "RosenbrockTableau",
    "IntegrationFailed",
    "Multistep",
    "NystromTableau",
    "SecondOrder",
    "Solution",
    "Split",
    "Splitting",
    "Stats",
    "Status",
    "SteadyState",
    "SteadyStateFailed",
    "StepControl",
    "Tableau",
    "Taylor",
    "Trajectory",
    "additive",
    "cdesolve",
    "compose",
    "consistent_start",
    "control_path",
    "ensemble",
    "esdirk",
    "etdrk4",
    "exponential",
    "extrapolation",
    "jacobian_pattern",
    "jumpsolve",
    "krylov_jacobian",
    "lie_steps",
    "magnus",
    "nystrom",
    "odesolve",
    "rosenbrock",
    "rotation",
    "split",
    "steady_state",
    "symplectic",
    "tableau",
]


def __dir__() -> list[str]:
    return sorted(__all__)


def __getattr__(name: str) -> Any:
    """Import ``ensemble``, which needs the compiler, on first use."""
    if name != "ensemble":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from .ensembles import ensemble

    globals()[name] = ensemble
    return ensemble
