"""``python -m regorus_fuzz --minutes 20``: looks for policies and inputs that do harm, and keeps them.

Ends with 1 where something was found that is worse than a panic, which the binding contains.
"""

import argparse
import re
import sys
from collections import Counter
from pathlib import Path
from random import Random
from secrets import randbits
from time import monotonic

from regorus_fuzz.case import CORPUS, POLICIES, Case, read, write
from regorus_fuzz.judge import Finding, Verdict
from regorus_fuzz.mutate import mutated
from regorus_fuzz.supervise import Child

REPORT_SECONDS = 60
PANICS_KEPT_MAX = 20


def say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m regorus_fuzz", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--minutes", type=float, default=10.0, help="how long (10)")
    parser.add_argument("--seed", type=int, help="of the mutations; the same gives the same cases")
    parser.add_argument("--found", type=Path, default=Path("found"), help="folder for what is found (found)")
    parser.add_argument("--corpus", action="store_true", help="only evaluate the kept corpus, once")
    return parser.parse_args()


def main() -> int:
    arguments = parse()
    corpus = [*read(CORPUS), *read(POLICIES)]
    if arguments.corpus:
        with Child() as child:
            verdicts = [child.ask(case) for case in corpus]
        bad = [verdict for verdict in verdicts if verdict.finding not in {None, Finding.PANIC}]
        say(f"{len(corpus)} cases, {len(bad)} findings")
        return 1 if bad else 0
    seed = randbits(32) if arguments.seed is None else arguments.seed
    say(f"{len(corpus)} cases to begin with, seed {seed}")
    return search(Random(seed), corpus, arguments.minutes * 60, arguments.found)  # noqa: S311 - nothing secret


def search(random: Random, corpus: list[Case], seconds: float, found: Path) -> int:
    """Mutates until the time is over."""
    counts: Counter[str] = Counter()
    panics: set[str] = set()
    started = reported = monotonic()
    with Child() as child:
        while monotonic() - started < seconds:
            case = mutated(random, corpus)
            verdict = child.ask(case)
            counts[str(verdict.finding or "fine")] += 1
            if is_new(verdict, panics):
                say(f"{verdict.finding}: {verdict.message}\n    {write(found, case)}")
            if monotonic() - reported > REPORT_SECONDS:
                reported = monotonic()
                say(f"{reported - started:.0f} s: {dict(counts)}")
    say(f"{sum(counts.values())} cases: {dict(counts)}")
    return 1 if any(counts[finding] for finding in Finding if finding is not Finding.PANIC) else 0


def is_new(verdict: Verdict, panics: set[str]) -> bool:
    """Everything but a panic of a kind that was seen before."""
    if verdict.finding is not Finding.PANIC:
        return verdict.finding is not None
    kind = re.sub(r"`[^`]*`|\d+", "", verdict.message)[:80]
    if kind in panics or len(panics) >= PANICS_KEPT_MAX:
        return False
    panics.add(kind)
    return True


if __name__ == "__main__":
    sys.exit(main())
