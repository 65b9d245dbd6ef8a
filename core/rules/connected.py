"""Late-bound functions of the engine: each cycle of calls between modules is broken by looking one function up here.

The module that defines a function sets it here.  The recording functions (``eager``) and the tracing functions
(``specialise``) are set once their modules have been loaded, by the code that needs them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Late = Callable[..., Any]


class Connected:
    # Recording
    calls: dict[str, Late]  # call: what rewritten functions call, by the names that they use
    how: Late  # call: how a function or a class is called, whatever its arguments
    call_other: Late  # call: a call of anything but a Python function or a method
    pullback: Late  # api: the public function, for programs of SciPy's solvers
    iteration: Late  # api: an iteration of a loop as a typed function
    record_run: Late  # pullback: one run of a function, and its pullback
    run_forward: Late  # forward.run: the value of a function and its tangent
    run_taylor: Late  # taylor.run: the coefficients of a function's Taylor series
    call_in_taylor: Late  # taylor.custom: a call of a function with a custom derivative, in Taylor mode
    series_of_root: Late  # taylor.custom: the solution of an equation, in Taylor mode
    call_compiled_forward: Late  # forward.compiled: a call of a structured function, in forward mode
    call_with_tangent: Late  # forward.custom: a call of a function with a custom tangent, in forward mode
    awaited: Late  # fused: a place in a rewritten function where an expression becomes one operation
    site: Late  # fused: an expression as one operation
    body: Late  # fused: a whole function as one operation
    run_opaque: Late  # watched: a call of code in C
    advanced: Late  # watched: a step of an iterator that runs outside of the tape
    refuse_bits: Late  # raw_memory
    refuse_if_given: Late  # raw_memory
    # Tracing
    call_with_adjoint: Late  # transformed_calls
    call_with_custom_tangent: Late  # transformed_calls
    call_by_rule: Late  # transformed_calls
    trace_invertible: Late  # transformed_calls
    call_python: Late  # callbacks: a call of Python from the compiled program
    trace_into: Late  # traced_rules: a rule's function as typed IR
    trace_program: Late  # traced_rules: the source of a library's function as typed IR
    compiled_part: Late  # compiled: a typed function that a compiled program runs from Python


connected = Connected()
