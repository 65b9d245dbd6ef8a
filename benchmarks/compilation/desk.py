"""The desk of a contender: it answers requests in the contender's process."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..racing import desk


class Desk(desk.Desk):
    """Answers the requests, in the contender's process."""

    def __init__(self, contender: str) -> None:
        super().__init__(__package__ or "", contender)

    def slope(self, name: str, size: Any) -> tuple[float, float, float]:
        """The loss's slope along a random direction by the eager gradient and by differences, and the latter's error."""
        import morula as mo
        from morula.core.testing.differences import ridders

        program = self.find(name)
        args = list(program.inputs(size))
        rng = np.random.default_rng(7)
        along = {i: rng.normal(size=np.shape(args[i])) for i in program.argnums}

        def moved(h: float) -> float:
            return float(program.numpy(*(a + h * along[i] if i in along else a for i, a in enumerate(args))))

        _, gradients = mo.value_and_grad(program.numpy, program.argnums)(*args)
        slope = sum(float(np.sum(g * along[i])) for g, i in zip(gradients, program.argnums))
        return slope, *ridders(moved, 1e-2)
