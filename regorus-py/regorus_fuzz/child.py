"""Evaluates cases from standard input, a line each, and says what they came to; killed where it does not.

The first line it writes says how much memory it holds before any case.
"""

import json
import resource
import sys
from time import process_time

from regorus import Data, EvaluationError, InputError, Policy, RegoError

ADDRESS_SPACE_BYTES = 6 << 30
"""Far above what evaluations may hold, with room for their stacks."""


def evaluate(policy: str, document: str) -> dict[str, object]:
    """The outcome, and the processor's time that creating and deciding took."""
    started = process_time()
    try:
        compiled = Policy(policy, data=Data(b'{"limits": {"hard": 10}, "names": ["a", "b"]}'))
    except RegoError as error:
        return {"outcome": "refused", "message": error.message, "create_seconds": process_time() - started}
    created = process_time()
    outcome, message = "decided", ""
    try:
        compiled.decide(document.encode("utf-8", "surrogatepass"))
    except InputError as error:
        outcome, message = "input", error.reason
    except EvaluationError as error:
        outcome, message = error.kind, error.reason
    return {
        "outcome": outcome,
        "message": message[:500],
        "create_seconds": created - started,
        "decide_seconds": process_time() - created,
    }


def held_bytes() -> int:
    """The most memory that this process ever had."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def main() -> None:
    """Until standard input ends."""
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE_BYTES, ADDRESS_SPACE_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    sys.stdout.write(json.dumps({"held_bytes": held_bytes()}) + "\n")
    sys.stdout.flush()
    for line in sys.stdin:
        case = json.loads(line)
        try:
            answer = evaluate(case["policy"], case["input"])
        except BaseException as error:  # noqa: BLE001 - what is not ours is a finding
            answer = {"outcome": "foreign", "message": repr(error)[:500]}
        sys.stdout.write(json.dumps({**answer, "held_bytes": held_bytes()}) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
