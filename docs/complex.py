"""Generates ``complex.md``: how the rule of each function of NumPy and SciPy that takes complex arguments is checked.

    python docs/complex.py

The rows follow from the table of rules and from the tests of the rules: ``tests/complex_cases.py`` finds the calls, and what kind of
function each is. ``tests/rules/test_complex.py`` runs the checks, and compares this page with the code.
"""

from __future__ import annotations

import os
import sys
import warnings
from pathlib import Path
from typing import Any

os.environ.setdefault("MORULA_CACHE", "0")
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

import numpy as np
import scipy
from complex_cases import BY_HAND, MODULES, REFUSED, calls_of, complex_arguments, few, kinds, names, order_of
from interpreted import interpreted
from rule_cases import Case
from rule_paths import first_of, program_of
from rule_tester import cotangent

from morula.core.errors import BadInput, NoDerivative

PAGE = Path(__file__).with_name("complex.md")

HEADER = f"""\
# Complex arguments

Look up here what kind of function of a complex argument a function of NumPy or SciPy is, and how its derivative is checked. For the convention, see
[Semantics](semantics.md#complex-numbers). [complex.py](complex.py) generates this page, and a test compares it with the code. It was made with NumPy
{np.__version__} and SciPy {scipy.__version__}.

| kind | meaning | derivative along v |
|---|---|---|
| holomorphic | has a complex derivative f' | f' v |
| anti-holomorphic | the conjugate of a holomorphic function | linear in the conjugate of v |
| real-valued | the result is real | real |
| mixed | none of these | a v + b conj(v) |

The kinds are those of the calls in the tests: the derivatives along a direction v and along iv, found by differences, satisfy the equations of
Cauchy and Riemann, or their conjugates, or neither. "Or" stands between those of different options or shapes. Arguments are counted from 1; those that are not listed are
real, or have no derivative.

Each rule is compared with differences in the real and the imaginary direction of every entry, up to the order in the column; recorded, structured,
as typed IR, and in forward mode. Where the last column says `refused`, typed IR refuses calls with these arguments. `make test-paths`
compares the paths at further arguments, and compiles a sample with both back ends.
"""


def rows(module: str) -> list[tuple[str, str, str, list[Case]]]:
    """Name, kind, check, and calls of each function of a module that takes complex arguments."""
    found = []
    for holder, name, function in names():
        calls = list(few(calls_of(function))) if holder == module else []
        if not calls:
            continue
        whole = f"{module}.{name}"
        kind = "" if whole in REFUSED else "mixed" if whole in BY_HAND else kind_of_all(kinds(calls))
        order = order_of(function) or 2
        check = "a complex argument is refused" if whole in REFUSED else BY_HAND.get(whole, f"order {order}")
        found.append((name, kind, check, calls))
    return found


def kind_of_all(by_argument: dict[int, str]) -> str:
    if len(set(by_argument.values())) == 1:
        return next(iter(by_argument.values()))
    return "; ".join(f"{i + 1}: {kind}" for i, kind in by_argument.items())


def compiled(calls: list[Case]) -> str:
    """Whether the gradients of calls with complex arguments are typed IR."""
    states = [_is_typed(case) for case in calls if complex_arguments(case)]
    return "yes" if all(states) else "some refused" if any(states) else "refused"


def _is_typed(case: Case) -> bool:
    program: Any = program_of(case.function, case.args, case.kwargs, case.active)
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            interpreted(first_of(program))(cotangent(program(*case.point), np.random.default_rng(7)), *case.point)
        except (BadInput, NoDerivative):
            return False
    return True


def page(columns: dict[str, dict[str, str]]) -> str:
    """The page; ``columns`` has the last column, by module and name."""
    lines = [HEADER]
    for module in MODULES:
        lines += [f"## {module}", "", "| name | kind | checked | typed IR |", "|---|---|---|---|"]
        lines += [
            f"| `{name}` | {kind} | {check} | {columns[module].get(name, '')} |"
            for name, kind, check, _ in rows(module)
        ]
        lines.append("")
    return "\n".join(lines)


if __name__ == "__main__":
    PAGE.write_text(page({m: {name: compiled(calls) for name, kind, _, calls in rows(m) if kind} for m in MODULES}))
