"""A Python function and the types of its arguments -> a typed program.

The user's syntax tree is interpreted once.  What is known while compiling (containers, functions, shapes, strings, numbers
that do not depend on an argument) is handled by Python itself; numbers and arrays that are not known are ``traced``
values, and what is done with them is written as typed IR.

    arguments     Python arguments <-> the parameters and results of a typed function
    state         what a region of the program has changed, so that it can be undone, merged and carried
    expressions   expressions
    statements    statements, and how ``return``, ``break`` and ``continue`` pass through traced conditions
    branches      ``if`` on traced conditions;  merging: one outcome of two;  loops: what they carry
    ways          what follows a condition, interpreted for each way, where the two cannot be merged
    scopes        names
    sequences     what a loop can walk by index: ranges, arrays, zip, enumerate, reversed
    objects       objects of classes written in Python
    matching      ``match``
    calls         calls: Python functions are interpreted in their turn, classes instantiated, NumPy's looked up;  uninterpreted: functions of C
    outside       what is read from outside of the function: guards, and arrays that become inputs
    program       the whole
"""

from __future__ import annotations

from . import traced_rules  # noqa: F401  sets itself in ``connected``
from .program import Program, specialise

__all__ = ["Program", "specialise"]
