"""``python -m fuzz``: run random programs, from where the last run ended; shrink, print and keep findings.

Each family and tier has a file in ``.fuzz/`` with the next seed and the count of each outcome.  Programs run in a
subprocess, so that a program which kills its process is found too.  A finding is written to ``.fuzz/findings/`` as a
runnable program.  ``--again`` judges the kept findings once more, and removes those that no longer fail.
"""

from __future__ import annotations

import argparse
import collections
import gc
import json
import os
import subprocess
import sys
import warnings
from pathlib import Path

from .families import FAMILIES
from .judge import TIERS, Outcome, Verdict, judge
from .shrink import shrink

FOLDER = Path(__file__).resolve().parents[2] / ".fuzz"
CHUNK = 500
SECONDS = {"eager": 60.0, "recorded": 60.0, "native": 200.0, "xla": 300.0, "partial": 300.0}
"""The time limit in seconds for a program, including its compilation."""


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m fuzz", description=__doc__)
    parser.add_argument("families", nargs="*", help=f"of {', '.join(FAMILIES)}; all of them by default")
    parser.add_argument("--programs", type=int, default=200, help="how many more of each family (default: 200)")
    parser.add_argument("--tiers", default="eager", help=f"comma-separated, of {', '.join(TIERS)} (default: eager)")
    parser.add_argument("--shrink", type=int, default=3, help="findings of each family that are shrunk (default: 3)")
    parser.add_argument("--again", action="store_true", help="judge the findings once more, and nothing else")
    parser.add_argument("--work", nargs=5, help=argparse.SUPPRESS)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    if options.work:
        return work(*options.work)
    if options.again:
        return again()
    failed = 0
    for name in options.families or FAMILIES:
        for tier in options.tiers.split(","):
            failed += run(name, tier, options.programs, options.shrink)
    report()
    return int(failed > 0)


def run(family: str, tier: str, programs: int, to_shrink: int) -> int:
    """Judge ``programs`` more programs of a family; return how many failed."""
    state = FOLDER / f"{family}-{tier}.json"
    known = json.loads(state.read_text()) if state.exists() else {"next": 0, "counts": {}, "failures": []}
    counts = collections.Counter(known["counts"])
    end, failed = known["next"] + programs, 0
    while known["next"] < end:
        stop = min(known["next"] + CHUNK, end)
        command = [
            sys.executable,
            "-m",
            "fuzz",
            "--work",
            family,
            tier,
            str(known["next"]),
            str(stop),
            str(to_shrink - failed),
        ]
        child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=os.environ)
        assert child.stdout is not None
        for line in child.stdout:
            found = json.loads(line)
            known["next"] = found["seed"] + 1
            counts[found["outcome"]] += 1
            if found["seed"] % 50 == 49:
                save(state, {**known, "counts": counts})
            if Outcome(found["outcome"]).is_failure:
                failed += 1
                known["failures"].append(found["seed"])
                keep(family, tier, found)
        if child.wait() != 0 and known["next"] < stop:
            seed = known["next"]
            text = FAMILIES[family].write(seed)
            found = {
                "seed": seed,
                "outcome": "CRASH",
                "message": f"the process ended with {child.returncode}",
                "text": text,
            }
            known["next"], failed = seed + 1, failed + 1
            counts["CRASH"] += 1
            known["failures"].append(seed)
            keep(family, tier, found)
        save(state, {**known, "counts": counts})
    return failed


def save(state: Path, known: dict) -> None:
    FOLDER.mkdir(exist_ok=True)
    state.write_text(json.dumps(known))


def work(family: str, tier: str, start: str, stop: str, to_shrink: str) -> int:
    """In the subprocess: judge the seeds from ``start`` to ``stop``, and print one line of JSON for each."""
    left = int(to_shrink)
    gc.collect()
    gc.freeze()  # imported modules stay alive: exclude them from each program's garbage collection
    gc.set_threshold(5000, 20, 50)
    for seed in range(int(start), int(stop)):
        text = FAMILIES[family].write(seed)
        verdict = judge(text, tier, SECONDS[tier])
        found = {"seed": seed, "outcome": verdict.outcome.value, "message": verdict.message}
        if verdict.outcome.is_failure:
            found["text"] = text
            if left > 0:
                left -= 1
                found["text"] = shrink(text, lambda t: fails_alike(t, tier, verdict), 40.0)
                found["message"] = judge(found["text"], tier).message or verdict.message
        print(json.dumps(found), flush=True)
    return 0


def fails_alike(text: str, tier: str, verdict: Verdict) -> bool:
    """Whether a smaller program fails like the original: the same outcome, and the same exception in a crash."""
    found = judge(text, tier, seconds=10.0)
    if found.outcome is not verdict.outcome:
        return False
    return kind(found) == kind(verdict)


def kind(verdict: Verdict) -> str:
    """The exception of a crash, or the wrong part: the value, a slope, the arguments."""
    if verdict.outcome is Outcome.CRASH:
        return verdict.message.strip().rpartition("\n")[2].partition(":")[0]
    return verdict.message[:9] + ("raised" if "raised" in verdict.message else "")


def keep(family: str, tier: str, found: dict) -> None:
    """Write a finding as a runnable program, and print it."""
    folder = FOLDER / "findings"
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{family}-{tier}-{found['seed']}.py"
    message = "\n".join(f"# {line}" for line in [found["outcome"], *found["message"].strip().splitlines()])
    ending = "if __name__ == '__main__':\n    print(mo.gradient(program, *arguments(**LEAVES)))\n"
    path.write_text(f"{message}\n{found.get('text', '')}\n\n{ending}")
    print(f"---- {path}\n{path.read_text()}", flush=True)


def again() -> int:
    """Judge the findings once more, and delete those that no longer fail."""
    left = 0
    for path in sorted((FOLDER / "findings").glob("*.py")):
        tier = path.stem.split("-")[1]
        verdict = judge(path.read_text(), tier)
        if verdict.outcome.is_failure:
            left += 1
            print(f"{path.name}: {verdict.outcome.value}: {verdict.message.strip().splitlines()[-1][:200]}")
        else:
            print(f"{path.name}: {verdict.outcome.value} by now")
            path.unlink()
    return int(left > 0)


def report() -> None:
    """Print the counts of all runs so far."""
    outcomes = [o.value for o in Outcome]
    print(f"{'family':20}{'tier':10}{'programs':>10}" + "".join(f"{o:>10}" for o in outcomes))
    total: collections.Counter[str] = collections.Counter()
    for path in sorted(FOLDER.glob("*.json")):
        family, _, tier = path.stem.rpartition("-")
        counts = collections.Counter(json.loads(path.read_text())["counts"])
        total.update(counts)
        print(f"{family:20}{tier:10}{counts.total():10}" + "".join(f"{counts[o]:10}" for o in outcomes))
    print(f"{'all':30}{total.total():10}" + "".join(f"{total[o]:10}" for o in outcomes))


if __name__ == "__main__":
    sys.exit(main())
