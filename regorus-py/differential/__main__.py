"""``python -m differential``: makes generated calls here and in OPA, and ends with 1 where a value differs.

It also compiles generated policies, and ends with 1 where one is accepted that OPA calls unsafe. ``--write`` writes
OPA's answers to the fixed samples, which tests compare.
"""

import argparse
import sys
import tempfile
from pathlib import Path

from differential import bodies, sample
from differential.ask import Module, ask_here, ask_opa, build
from differential.compare import compare

SHOWN = 20


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m differential", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--patterns", type=int, default=100_000, help="calls with a regular expression (100,000)")
    parser.add_argument("--builtins", type=int, default=100_000, help="calls of other builtins (100,000)")
    parser.add_argument("--expressions", type=int, default=50_000, help="expressions of numbers (50,000)")
    parser.add_argument("--statements", type=int, default=20_000, help="policies with a value (20,000)")
    parser.add_argument("--bodies", type=int, default=20_000, help="policies for the check of unsafe names (20,000)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--write", action="store_true", help="write the answers to the fixed sample")
    arguments = parser.parse_args()
    counts = arguments.patterns, arguments.builtins, arguments.expressions, arguments.statements
    calls = sample.fixed() if arguments.write else sample.make(arguments.seed, *counts)
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder, "opa")
        build(program)
        theirs = ask_opa(program, calls)
        policies = bodies.fixed() if arguments.write else bodies.policies(arguments.seed, arguments.bodies)
        verdicts = "".join(map(bodies.verdict_of_opa, ask_opa(program, [Module(text) for text in policies])))
    if arguments.write:
        sample.GOLDEN.write_text(sample.digests(calls, theirs))
        bodies.GOLDEN.write_text(f"{verdicts}\n")
    verdict_counts, different = compare(calls, theirs, ask_here(calls))
    lax, strict = bodies.compare_bodies(policies, verdicts)
    summary = f"policies: {len(policies)}, unsafe only in OPA: {len(lax)}, unsafe only here: {len(strict)}"
    sys.stdout.write("\n".join([*different[:SHOWN], f"{dict(verdict_counts)}", *lax[:SHOWN], summary, ""]))
    return 1 if different or lax else 0


if __name__ == "__main__":
    sys.exit(main())
