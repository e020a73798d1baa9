"""``python -m regorus_fuzz.against_opa OPA``: the same calls here and in OPA, whose program is named.

Each builtin that both have is called with arguments of its types, mostly, through the input, so that OPA's checks
before evaluation let them pass. Printed is where both answer, and differ, or one is undefined; an error here where
OPA has a value is counted only: in a policy it denies.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from random import Random

from conformance.outcome import number_free
from regorus import EvaluationError, builtins, parse_json
from regorus._engine import evaluate_case

from regorus_fuzz.generate import TEXTS

LEFT_OUT = {"time.now_ns", "numbers.range", "numbers.range_step", "net.cidr_expand", "bits.lsh", "walk", "print"}
"""Other times, and what has no end in OPA."""
OPA_SECONDS_MAX = 20
CALLS_PER_BATCH = 100
NUMBERS = [0, 1, 2, 3, -1, 10, 64, 100, 0.5, -2.5, 3.7, 10**18, 1_700_000_000, 2**53]
WORDS = [
    *(text for text in TEXTS if len(text) < 300 and "\0" not in text),
    "foo",
    "a/b",
    "/a/b",
    "a,b",
    "1.0.0",
    "10KB",
    "*",
]


@dataclass(frozen=True)
class Call:
    """A builtin with its arguments, as JSON; those that are to be sets are lists."""

    name: str
    arguments: list[object]
    are_sets: list[bool]

    def rule(self, index: int) -> str:
        places = [f"input[{index}][{place}]" for place in range(len(self.arguments))]
        written = [f"{{y | some y in {p}}}" if s else p for p, s in zip(places, self.are_sets, strict=True)]
        return f"r{index} := {self.name}({', '.join(written)})"


def value(random: Random, kind: dict[str, object], depth: int = 0) -> object:
    """Of a type in OPA's capabilities, or of any."""
    name = kind.get("type") if random.random() > 0.08 and depth < 4 else "leaf"
    inner = kind.get("dynamic") or kind.get("of") or {"type": "any"}
    if name == "any" and isinstance(kind.get("of"), list):
        return value(random, random.choice(list(kind["of"])), depth + 1)  # type: ignore[call-overload]
    if name == "any":
        name = random.choice(["string", "number", "boolean", "array", "object"])
    if name in {"array", "set"} and isinstance(inner, dict):
        return [value(random, inner, depth + 1) for _ in range(random.randrange(4))]
    if name == "object":
        member = inner.get("value", {"type": "any"}) if isinstance(inner, dict) else {"type": "any"}
        return {random.choice([*"abc", *WORDS]): value(random, member, depth + 1) for _ in range(random.randrange(4))}
    return random.choice(
        {"string": WORDS, "number": NUMBERS, "boolean": [True, False]}.get(str(name), [None, 1, "a", []])
    )


def calls(random: Random, known: list[dict[str, object]]) -> list[Call]:
    made = []
    for _ in range(CALLS_PER_BATCH):
        builtin = random.choice(known)
        kinds: list[dict[str, object]] = builtin["decl"].get("args", [])  # type: ignore[attr-defined]
        arguments = [value(random, kind) for kind in kinds]
        sets = [k.get("type") == "set" and isinstance(a, list) for k, a in zip(kinds, arguments, strict=True)]
        made.append(Call(str(builtin["name"]), arguments, sets))
    return made


def ask_opa(program: Path, made: list[Call]) -> dict[str, object] | None:
    """By the names of the rules; None where one of the calls ends the whole evaluation."""
    with tempfile.TemporaryDirectory() as folder:
        policy, document = Path(folder, "p.rego"), Path(folder, "input.json")
        policy.write_text("package p\n" + "\n".join(call.rule(index) for index, call in enumerate(made)))
        document.write_text(json.dumps([call.arguments for call in made]))
        command = [program, "eval", "-d", policy, "-i", document, "-f", "json", "data.p"]
        done = subprocess.run(command, capture_output=True, check=False, timeout=OPA_SECONDS_MAX)
    if done.returncode != 0:
        return None
    answer = json.loads(done.stdout)
    return dict(answer["result"][0]["expressions"][0]["value"])


def ask_here(call: Call) -> object:
    """The value as JSON; None where it is undefined, an exception where there is none for a reason of ours."""
    module = "package p\n" + call.rule(0)
    results = parse_json(
        evaluate_case("data.p.r0 = x", [("p.rego", module)], input=json.dumps([call.arguments]).encode())
    )
    return canonical(results[0]["x"]) if isinstance(results, list) and results else None


def canonical(found: object) -> str:
    return json.dumps(number_free(found), sort_keys=True)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m regorus_fuzz.against_opa")
    parser.add_argument("opa", type=Path, help="OPA's program")
    parser.add_argument("--batches", type=int, default=10, help=f"of {CALLS_PER_BATCH} calls (10)")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    listed = subprocess.run([arguments.opa, "capabilities", "--current"], capture_output=True, check=True)
    known = [
        builtin
        for builtin in json.loads(listed.stdout)["builtins"]
        if builtin["name"] in builtins() and "infix" not in builtin and builtin["name"] not in LEFT_OUT
    ]
    random, counts = Random(arguments.seed), Counter[str]()  # noqa: S311 - nothing secret
    for _ in range(arguments.batches):
        made = calls(random, known)
        theirs = ask_opa(arguments.opa, made)
        if theirs is None:
            counts["batches that OPA ended"] += 1
            continue
        for index, call in enumerate(made):
            their = canonical(theirs[f"r{index}"]) if f"r{index}" in theirs else None
            try:
                here = ask_here(call)
            except EvaluationError:
                counts["error here"] += 1
                continue
            counts["same" if here == their else "different"] += 1
            if here != their:
                sys.stdout.write(f"{call.name} {json.dumps(call.arguments)[:150]}\n    here {here}\n    OPA  {their}\n")
    sys.stdout.write(f"{dict(counts)}\n")


if __name__ == "__main__":
    main()
