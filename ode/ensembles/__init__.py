"""Many solves with parameters of their own: on all cores, in other processes, or on a cluster.

    ends = ensemble(solve, rows)                            # solve(p) for each row p, compiled, in threads
    ends = ensemble(solve, rows, executor=client)           # in the workers of an executor

Reading order: ``members`` computes some of the members, and their derivatives; ``jobs`` has them computed by workers, as one
operation with derivatives; ``solve`` checks the arguments, cuts the rows into jobs, and joins the results.
"""

from .solve import ensemble

__all__ = ["ensemble"]


def __dir__() -> list[str]:
    return sorted(__all__)
