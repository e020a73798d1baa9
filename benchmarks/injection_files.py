"""Measures how often the detector of instructions flags whole real files, in which nobody speaks to an agent.

``python -m benchmarks.injection_files [PART] [FOLDER ...]``: false positives by kind of file at several thresholds, and
processor seconds for a megabyte. PART is ``held_out`` (the default), ``bar`` or ``mined`` (in training). Without
folders: what packages of this machine bring along (``benchmarks.real_files``). Prints totals only.
"""

import sys
import time
from collections import defaultdict
from pathlib import Path
from typing import Final

from benchmarks.real_files import DEFAULT_ROOTS, PARTS, FilePart, chosen_files, read_file
from headgate.detectors.assess import EmbeddedModel, assess
from headgate.kernel.canonical_json import JsonObject

_THRESHOLDS: Final = (0.7, 0.8, 0.85)
_OF_KIND: Final = 150


def risk_of(path: Path) -> float:
    """As of an answer whose body is the file."""
    read = read_file(path)
    answer: JsonObject = {"answer": {"status": 200}}
    if not read.attachments:
        answer["body"] = read.body
    return assess(EmbeddedModel.INJECTION, answer, attachments=read.attachments).risk_score


def measure(part: FilePart, roots: tuple[Path, ...]) -> None:
    risks: dict[str, list[float]] = defaultdict(list)
    size, seconds = 0, 0.0
    for one in chosen_files(part, _OF_KIND, roots):
        began = time.process_time()
        risks[one.kind].append(risk_of(one.path))
        seconds += time.process_time() - began
        size += read_file(one.path).size
    everything = [risk for found in risks.values() for risk in found]
    for kind, found in [*sorted(risks.items()), ("all", everything)]:
        shares = ", ".join(f"{sum(one >= least for one in found) / len(found):.3f} at {least}" for least in _THRESHOLDS)
        print(f"{part} {kind} ({len(found)} files): {shares}")
    print(f"{part}: {size / 1e6:.1f} MB, {seconds / size * 1e6:.2f} s of processor time for 1 MB")


def main() -> None:
    arguments = sys.argv[1:]
    part = next((one for one in PARTS if arguments[:1] == [one]), None)
    folders = tuple(map(Path, arguments[1:] if part else arguments))
    measure(part or "held_out", folders or DEFAULT_ROOTS)


if __name__ == "__main__":
    main()
