"""Every error code is documented, with its status, an example that is one, and what an agent should do."""

import json
import re
from pathlib import Path

import pytest

from headgate.kernel.errors import HTTP_STATUS, ErrorCode

PAGE = (Path(__file__).parents[3] / "docs" / "reference" / "errors.md").read_text("utf-8")
ROW = re.compile(r"^\| `([A-Z_]+)` \| (\d{3}) \| (?:gate|API|both) \| \S.* \|$", re.MULTILINE)
SECTION = re.compile(r"^### ([A-Z_]+)\n(.*?)(?=^##|\Z)", re.MULTILINE | re.DOTALL)
EXAMPLE = re.compile(r"```json\n(.*?)```", re.DOTALL)
SECTIONS = dict(SECTION.findall(PAGE))


def test_the_table_is_the_table_of_statuses() -> None:
    rows = {code: int(status) for code, status in ROW.findall(PAGE)}
    assert rows == {code.value: status for code, status in HTTP_STATUS.items()}


def test_no_section_is_of_a_code_that_is_gone() -> None:
    assert SECTIONS.keys() == {code.value for code in ErrorCode}


@pytest.mark.parametrize("code", list(ErrorCode))
def test_a_section_says_status_body_and_what_to_do(code: ErrorCode) -> None:
    text = SECTIONS[code.value]
    assert text.strip().startswith(str(HTTP_STATUS[code]))
    example = EXAMPLE.search(text)
    assert example is not None
    error = json.loads(example[1])["error"]
    assert error.keys() - {"details"} == {"code", "message", "timestamp", "requestId"}
    assert error["code"] == code.value
    assert "\n*Agent:* " in text
