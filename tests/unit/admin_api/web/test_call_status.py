"""Pages name one state of a call by one word, the list of executions included."""

import pytest

from admin_api.pages import _TEMPLATES


def shown(status: str, execution: str | None) -> str:
    parts = _TEMPLATES.get_template("parts.html").module
    call = {"status": status, "execution": None if execution is None else {"status": execution}}
    return str(parts.call_status(call)).rpartition("</svg>")[2].removesuffix("</span>")  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("status", "execution", "word"),
    [
        ("approved", None, "Approved"),
        ("approved", "queued", "Approved"),
        ("executing", "queued", "Running"),
        ("failed", "failed", "Failed"),
        # Nothing was sent: the use of its approval was released.
        ("approved", "failed", "Failed"),
        ("completed", "succeeded", "Allowed"),
    ],
)
def test_a_failed_execution_makes_a_failed_call(status: str, execution: str | None, word: str) -> None:
    assert shown(status, execution) == word
