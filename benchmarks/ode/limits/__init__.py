"""Solvers in C for one problem: the method's coefficients, the problem's formulas, and one of the two templates."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from morula.ode import METHODS
from morula.ode.methods.rosenbrock import RosenbrockTableau

from ...compilation.c_code import c_function
from ..program import Problem
from .formulas import written

HERE = Path(__file__).parent
HEADER = "#include <math.h>\n#include <stdlib.h>\n#include <string.h>\n"


def source(problem: Problem, is_differentiated: bool) -> str:
    """The program in C. Without ``is_differentiated``, derivatives that only the adjoint needs are left empty."""
    method: Any = METHODS[problem.method]
    n, parameters = len(problem.y0), len(flat(problem.args))
    lower, upper = problem.bands or (n - 1, n - 1)
    numbers = {"N": n, "P": parameters, "LOWER": lower, "UPPER": upper, "WIDTH": lower + upper + 1}
    numbers |= {"ORDER": method.error_order}
    if isinstance(method, RosenbrockTableau):
        numbers |= {"S": len(method.m), "GAMMA": method.gamma}
        arrays = {"A": method.a, "G": method.C, "M": method.m, "E": method.error}
        template = "rosenbrock.c"
    else:
        numbers |= {"S": len(method.a)}
        arrays = {"A": method.a, "C": method.c, "E": method.error[0]}
        template = "explicit.c"
    lines = [f"#define {name} {value!r}" for name, value in numbers.items()]
    lines += [_array(name, value) for name, value in arrays.items()]
    formulas = problem.in_c or written(problem, template == "rosenbrock.c", is_differentiated)
    return "\n".join([HEADER, *lines, formulas, (HERE / template).read_text()])


def flat(args: tuple[Any, ...]) -> np.ndarray:
    """The parameters as one vector."""
    return np.concatenate([np.ravel(a) for a in args]).astype(float) if args else np.zeros(0)


def solved(problem: Problem) -> Callable[[], Any]:
    """A call that returns the end value."""
    run, y, settings = _prepared(problem, "solve")
    return lambda: (run(*settings, y), y)[1]


def differentiated(problem: Problem) -> Callable[[], Any]:
    """A call that returns the sum of squares of the end value, and its gradient by y0 and the parameters."""
    run, by, settings = _prepared(problem, "gradient")
    bp = np.empty(len(flat(problem.args)))
    return lambda: (run(*settings, by, bp), by, bp)


def of_many(problem: Problem, is_gradient: bool) -> Callable[[], Any]:
    """The same for many y0 or parameters: those that have one more axis than the problem's."""
    y0, p = problem.y0, problem.args[0]
    n = len(y0) if y0.ndim == 1 else y0.shape[1]
    count = len(y0) if y0.ndim == 2 else len(p)
    single = problem.single()
    is_parameter = y0.ndim == 1
    width = len(flat(single.args))
    strides = (0 if is_parameter else n, width if is_parameter else 0)
    parameters = np.ascontiguousarray(p) if is_parameter else flat(problem.args)
    run = c_function(
        source(single, is_gradient), "gradient_many" if is_gradient else "solve_many", _double(is_gradient)
    )
    settings = (count, y0, strides[0], parameters, strides[1], *problem.span, problem.rtol, problem.atol)
    out = np.empty((count, n))
    if not is_gradient:
        return lambda: (run(*settings, out), out)[1]
    bp = np.empty(parameters.shape)
    return lambda: (run(*settings, out, bp), out.sum(axis=0) if is_parameter else out, bp)


def _prepared(problem: Problem, name: str) -> tuple[Callable[..., Any], np.ndarray, tuple[Any, ...]]:
    run = c_function(source(problem, name == "gradient"), name, _double(name == "gradient"))
    settings = (problem.y0, flat(problem.args), *problem.span, problem.rtol, problem.atol)
    return run, np.empty(len(problem.y0)), settings


def _double(is_gradient: bool) -> Any:
    import ctypes

    return ctypes.c_double if is_gradient else None


def _array(name: str, values: np.ndarray) -> str:
    def braces(x: Any) -> str:
        return "{" + ", ".join(map(braces, x)) + "}" if np.ndim(x) else repr(float(x))

    return f"static const double {name}{''.join(f'[{k}]' for k in values.shape)} = {braces(values)};"
