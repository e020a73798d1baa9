"""What an approver is told of consequences: what the catalogue says, and no more."""

import pytest

from headgate.approvals.consequences import consequences


@pytest.mark.parametrize(
    ("tool", "effect", "is_repeatable", "words"),
    [
        ("github", "read", True, ["reads data from github"]),
        ("github", "write", True, ["creates or changes data in github", "no further effect"]),
        ("github", "write", False, ["creates or changes data in github", "takes effect again"]),
        ("github", "destructive", False, ["cannot undo", "takes effect again"]),
        ("http", "destructive", None, ["in its destination", "No catalogue lists"]),
        ("payments", None, None, ["No catalogue describes"]),
        ("payments", "unheard of", True, ["No catalogue describes"]),
    ],
)
def test_sentences(tool: str, effect: str | None, is_repeatable: bool | None, words: list[str]) -> None:
    said = consequences(tool, effect, is_repeatable=is_repeatable)
    assert len(said) == len(words)
    for sentence, word in zip(said, words, strict=True):
        assert word in sentence
