"""``python -m peers``: run HIPS/autograd's own tests with morula in place of its engine.

autograd's published source is fetched from the package index into ``.peers/``; no part of it is in this repository.
``autograd_shim`` maps its interface to morula.  ``autograd_expected.txt`` lists the tests that are expected to fail,
with reasons; the run fails if another test fails, or if a listed test passes.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import xml.etree.ElementTree as ElementTree
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
FOLDER = ROOT / ".peers"
RELEASE = "autograd==1.9.1"
SOURCE = FOLDER / RELEASE.replace("==", "-")
REFUSALS = ("NoDerivative", "BadInput")


def main() -> int:
    if not SOURCE.exists():
        fetch()
    outcomes = run()
    expected = expected_failures()
    failures = {test for test, outcome in outcomes.items() if outcome in ("failed", "refused")}
    for outcome in ("passed", "failed", "refused", "skipped"):
        print(f"{outcome:8} {sum(found == outcome for found in outcomes.values()):4}")
    for test in sorted(failures - expected.keys()):
        print(f"fails, and did not before: {test} ({outcomes[test]})")
    for test in sorted(expected.keys() - failures):
        print(f"passes by now, take it off the list: {test}")
    return int(failures != expected.keys() or not outcomes)


def fetch() -> None:
    """The source distribution, unpacked."""
    FOLDER.mkdir(exist_ok=True)
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "--no-binary", ":all:", "--no-deps", "--dest", str(FOLDER), RELEASE], check=True)
    (archive,) = FOLDER.glob(f"{SOURCE.name}.tar.gz")
    with tarfile.open(archive) as packed:
        packed.extractall(FOLDER, filter="data")


def run() -> dict[str, str]:
    """Test -> passed, failed, refused or skipped."""
    report = FOLDER / "report.xml"
    report.unlink(missing_ok=True)
    tests = SOURCE / "tests"
    path = [HERE / "autograd_shim", ROOT / "src", tests]
    environment = {**os.environ, "AUTOGRAD_SOURCE": str(SOURCE), "PYTHONPATH": os.pathsep.join(map(str, path))}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", os.devnull, "-W", "ignore"]
    command += ["--tb=short", f"--rootdir={FOLDER}", f"--junitxml={report}", str(tests)]
    subprocess.run(command, env=environment, cwd=FOLDER, check=False)
    outcomes = {}
    for case in ElementTree.parse(report).iter("testcase"):
        name = f"{case.get('classname', '').rpartition('.')[2]}::{case.get('name')}"
        problem = next((part for part in case if part.tag in ("failure", "error", "skipped")), None)
        if problem is None:
            outcomes[name] = "passed"
        elif problem.tag == "skipped":
            outcomes[name] = "skipped"
        else:
            last = (problem.get("message") or "").partition(":")[0]
            outcomes[name] = "refused" if last.endswith(REFUSALS) else "failed"
    return outcomes


def expected_failures() -> dict[str, str]:
    """Test -> why it fails, from lines ``module::test  # reason``."""
    found = {}
    for line in (HERE / "autograd_expected.txt").read_text().splitlines():
        if line.strip() and not line.startswith("#"):
            test, _, reason = line.partition("  # ")
            found[test.strip()] = reason.strip()
    return found


if __name__ == "__main__":
    sys.exit(main())
