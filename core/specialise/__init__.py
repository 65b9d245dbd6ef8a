"""Specialisation: a Python function and the types of its arguments -> a typed program.

The syntax tree is interpreted once on abstract values.  Whatever is known while compiling (containers, functions,
shapes, strings, numbers that do not depend on an argument) is handled by Python itself; unknown numbers and arrays are
*traced* values, and operations on them are recorded as typed IR.

    arguments     Python arguments <-> the parameters and results of a typed function
    state         changes made by a region of the program, so that they can be undone, merged and carried
    expressions   expressions
    statements    statements; ``return``, ``break`` and ``continue`` under traced conditions
    branches      ``if`` on traced conditions;  merging: one object for the two of a branch;  loops: carried variables
    ways          forks: the rest of a body interpreted once for each branch, where the two cannot be merged
    choices       values of several kinds: None or a number, one text or another
    scopes        names
    sequences     what a loop can index instead of iterating: ranges, arrays
    objects       objects of classes written in Python
    matching      ``match``
    overrides     functions of NumPy that the class of an argument replaces
    array_subclasses  arrays of classes derived from ``ndarray``;  ufunc_protocol: their ufuncs;
                  classes_of_results: asks NumPy for the class of a result
    calls         calls: of Python functions, of classes, of traced functions;  uninterpreted: C functions
    folds         iterables that functions such as ``sum`` and ``any`` run through
    slots         the places that a loop carries, and what earlier attempts at it have found
    outside       reads from outside of the function: guards, and arrays that become inputs
    program       the whole program, and the interpreter, which is composed of the parts above

This room imports ``values``, ``ir``, ``rules``, ``source`` and ``passes``, never ``eager``.  To add a function of
NumPy, add it to the file of ``surface`` for its area; to add a built-in function, a row of ``builtin_functions``; to
add a syntax form, a method of ``statements`` or ``expressions``.
"""

from __future__ import annotations

from . import traced_rules  # noqa: F401  sets itself in ``connected``
from .program import Program, specialise

__all__ = ["Program", "specialise"]
