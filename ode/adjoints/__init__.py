"""The derivatives of a solve: through its steps, by an equation for the adjoint state, by sensitivities, or by reversal.

Reading order: ``options`` (the names and settings), ``solving`` (the one function that ``odesolve`` calls); ``equation`` with ``records``,
``jacobians`` and ``forcing`` (continuous adjoints), ``between_events`` (from one event to the next); ``sensitivities`` (forward); ``steps_again`` (checkpoints on the steps of a
first solve) and ``reversible``.
"""

from .options import ADJOINTS, Adjoint

__all__ = ["ADJOINTS", "Adjoint"]
