"""Writes ``generality.md``: third-party packages that are differentiated as they are, and what is refused of them.

    python docs/generality.py

The calls are those of ``tests/thirdparty/calls``; each is checked here, as ``make test-thirdparty`` does.
"""

from __future__ import annotations

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
PAGE = HERE / "generality.md"
# Without this folder: numba imports a module `coverage`, and must not find the file here.
sys.path[:] = [str(HERE.parent / "tests"), *(p for p in sys.path if Path(p).resolve() != HERE)]

from thirdparty.harness import Call, Package, Refused, packages  # noqa: E402

INTRODUCTION = """\
# Generality

Packages of many fields, none of them written for differentiation and none of them changed: each call below is a use from
the package's own documentation, and the gradient with respect to every number that it is given is compared with
differences extrapolated to step zero. `make test-thirdparty` installs the packages and repeats the comparison;
[generality.py](generality.py) writes this page from the same calls, which stand in `tests/thirdparty/calls`.

The packages marked *held out* were chosen by what they are, before any of their calls had been differentiated, and are
never profiled when morula is made faster: `benchmarks/generality.py` reports the cost of their gradients apart.
"""

WHAT_IS_REFUSED = """\
## What is refused, and why

A call is refused, with an error that names it, its file and its line, where a derivative exists but cannot be followed:

- compiled code without a rule: Cython, C and Fortran extensions beyond those of NumPy and SciPy that have rules
  ([coverage](coverage.md)), functions compiled by numexpr, and by numba for GPUs (functions of its `jit`, `vectorize` and
  `guvectorize` are differentiated by their Python source);
- arithmetic in exact numbers, `fractions` and `decimal`, and what is built on whole numbers, as mpmath's are;
- coroutines.

Where a program itself cuts the dependence, the derivative of the program is zero, as of any other program: numbers that
are written to text and read again, whole numbers from `int` and `round`, and a root that is bracketed by bisection until
the bracket is small, for its ends are only ever halved. [Semantics](semantics.md) says what can be done about the last.
"""


def passes(case: Call | Refused) -> bool:
    """Whether a call does what it should."""
    try:
        case.check()
    except Exception as error:
        print(f"{case.function.__name__}: {type(error).__name__}: {error}", file=sys.stderr)
        return False
    return True


def counted(found: list[Package], passed: dict[str, int] | None = None) -> list[str]:
    """The table, with the number of calls that passed: all, unless it is given."""
    rows = ["| package | field | calls | passed | refused |", "|---|---|---|---|---|"]
    for p in found:
        n = len(p.calls) if passed is None else passed[p.distribution]
        name = f"{p.distribution} (*held out*)" if p.held_out else p.distribution
        rows.append(f"| {name} | {p.field} | {len(p.calls)} | {n} | {len(p.refused) or ''} |")
    total = sum(len(p.calls) for p in found)
    n = total if passed is None else sum(passed.values())
    return [*rows, f"| **{len(found)} packages** | | {total} | {n} | {sum(len(p.refused) for p in found)} |"]


def page(found: list[Package], passed: dict[str, int] | None = None) -> str:
    """The whole page."""
    refused = [f"- `{p.distribution}`, {name}: {r.reason}" for p in found for name, r in p.refused.items()]
    cut = [f"- `{p.distribution}`, {name.replace('_', ' ')}: {c.reason}" for p in found for name, c in p.cut.items()]
    calls = [f"- **{p.distribution}**: {', '.join(name.replace('_', ' ') for name in p.calls)}" for p in found]
    parts = [INTRODUCTION, "\n".join(counted(found, passed)) + "\n", WHAT_IS_REFUSED]
    parts += ["Of the packages above, these calls are refused:\n", "\n".join(refused) + "\n"]
    parts += ["and the gradient of these is zero:\n", "\n".join(cut) + "\n", "## The calls\n", "\n".join(calls) + "\n"]
    return "\n".join(parts)


def main() -> None:
    found = list(packages())
    passed = {p.distribution: sum(map(passes, p.calls.values())) for p in found}
    PAGE.write_text(page(found, passed))
    print("\n".join(counted(found, passed)[-1:]))


if __name__ == "__main__":
    main()
