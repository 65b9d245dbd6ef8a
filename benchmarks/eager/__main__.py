"""Make the tables, print and write them; see the package's docstring."""

from __future__ import annotations

import argparse
import sys
from datetime import date

from ..report import RESULTS, machine, markdown
from .arrays import filling, vectors
from .jacobians import tall
from .scalars import ITERATIONS, scalars
from .starting import starting


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.eager", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="three repeats, and no file written")
    quick = parser.parse_args().quick
    repeats = 3 if quick else 9
    report = [f"# Eager gradients, {date.today()}", machine()]
    for title, table in (
        (f"Scalar loop of sin, multiply, add, {ITERATIONS:,} iterations; forward and backward", scalars),
        ("Vectors of 1,000", vectors),
        ("Filling an array element by element; forward and backward", filling),
        ("Jacobian of 20,000 residuals in 2 parameters, and the fit", tall),
        ("Starting, in a fresh interpreter", starting),
    ):
        print(f"{title} ...", file=sys.stderr)
        report += [f"## {title}", markdown(table(repeats))]
    text = "\n\n".join(report) + "\n"
    print(text)
    if not quick:
        path = RESULTS / f"eager-{date.today()}.md"
        path.write_text(text)
        print(f"written: {path}")


if __name__ == "__main__":
    main()
