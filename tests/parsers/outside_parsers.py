"""Cases, read by servers in other languages: one process of Node.js and one of Go, fed over pipes."""

import base64
import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.parsers.readings import Case, Json, Label, Reading, form, numbers_as_doubles

FOLDER = Path(__file__).parent


class OutsideParsers:
    def __init__(self, processes: list["subprocess.Popen[str]"]) -> None:
        self._processes = processes

    def read(self, case: Case) -> dict[str, Reading]:
        body = base64.b64encode(case.body).decode()
        line = json.dumps({"kind": case.kind, "content_type": case.content_type, "body": body}) + "\n"
        for process in self._processes:
            assert process.stdin is not None
            process.stdin.write(line)
            process.stdin.flush()
        readings: dict[str, Reading] = {}
        for process in self._processes:
            assert process.stdout is not None
            for name, answer in json.loads(process.stdout.readline(), parse_int=float).items():
                readings[name] = _reading(answer)
        return readings


@contextmanager
def run_outside_parsers(go_program: Path) -> Iterator[OutsideParsers]:
    commands = (["node", str(FOLDER / "parsers.mjs")], [str(go_program)])
    processes = [
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for command in commands
    ]
    try:
        yield OutsideParsers(processes)
    finally:
        for process in processes:
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.close()
            process.wait(10)
            process.stdout.close()


def _reading(answer: dict[str, Any]) -> Reading:
    if "error" in answer:
        return None
    if "value" in answer:
        return Json(json.dumps(numbers_as_doubles(answer["value"]), sort_keys=True))
    if "type" in answer:
        return Label(answer["type"], answer["charset"].lower(), answer["boundary"])
    return form(
        [(_decode(name), _decode(value)) for name, value in answer["fields"]],
        [
            (_decode(name), None if filename is None else _decode(filename), _decode(content))
            for name, filename, content in answer.get("files", [])
        ],
    )


def _decode(text: str) -> bytes:
    return base64.b64decode(text)
