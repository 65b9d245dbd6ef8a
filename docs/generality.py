"""Generates ``generality.md``: third-party packages that are differentiated unmodified, and their refused calls.

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

Look up here whether a package that you use can be differentiated. None of these packages was written for
differentiation, and all are unmodified. Each call is a use from the package's own documentation, and its gradient with
respect to every number in its arguments is compared with differences extrapolated to step zero. To repeat the comparison:

```sh
make test-thirdparty  # installs the packages and tests every call
```

[generality.py](generality.py) generates this page from the same calls, which are in `tests/thirdparty/calls`.

The packages marked *held out* were selected by their field, before any of their calls had been differentiated, and are
never profiled to make morula faster; `benchmarks/generality` reports the cost of their gradients separately.
"""

WHAT_IS_REFUSED = """\
## What is refused, and why

If a derivative exists but cannot be computed, the call is refused with an error that names the call, its file and its line:

- compiled code without a rule: Cython, C and Fortran extensions, except functions of NumPy and SciPy that have rules
  ([coverage](coverage.md)); functions compiled by numexpr, and by numba for GPUs (functions of its `jit`, `vectorize` and
  `guvectorize` are differentiated by their Python source);
- exact arithmetic (`fractions`, `decimal`), and numbers built on integers, such as mpmath's;
- coroutines.

If the program itself cuts the dependence, the derivative is zero: numbers formatted as text and parsed again, integers
from `int` and `round`, and a root found by bisection, which is computed only from the bracket's ends.
[Semantics](semantics.md#the-program) has the remedy for bisection.
"""


def passes(case: Call | Refused) -> bool:
    """Whether a call passes its check."""
    try:
        case.check()
    except Exception as error:
        print(f"{case.function.__name__}: {type(error).__name__}: {error}", file=sys.stderr)
        return False
    return True


def counted(found: list[Package], passed: dict[str, int] | None = None) -> list[str]:
    """The table, with the number of calls that passed; by default all of them."""
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
    parts += ["These calls have gradient zero:\n", "\n".join(cut) + "\n", "## The calls\n", "\n".join(calls) + "\n"]
    return "\n".join(parts)


def main() -> None:
    found = list(packages())
    passed = {p.distribution: sum(map(passes, p.calls.values())) for p in found}
    PAGE.write_text(page(found, passed))
    print("\n".join(counted(found, passed)[-1:]))


if __name__ == "__main__":
    main()
