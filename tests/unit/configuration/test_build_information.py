"""The commit of a checkout, from git's own files."""

from pathlib import Path

import pytest

from headgate.configuration.build_information import commit_of

COMMIT = "0123456789abcdef0123456789abcdef01234567"


@pytest.mark.parametrize(
    ("files", "commit"),
    [
        ({"HEAD": COMMIT + "\n"}, COMMIT),
        ({"HEAD": "ref: refs/heads/main\n", "refs/heads/main": COMMIT + "\n"}, COMMIT),
        ({"HEAD": "ref: refs/heads/main\n", "packed-refs": f"# pack-refs\n{COMMIT} refs/heads/main\n"}, COMMIT),
        ({"HEAD": "ref: refs/heads/main\n", "packed-refs": f"{COMMIT} refs/heads/not-main\n"}, None),
        ({"HEAD": "ref: refs/heads/main\n"}, None),
        ({}, None),
    ],
)
def test_the_commit(tmp_path: Path, files: dict[str, str], commit: str | None) -> None:
    for name, text in files.items():
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    assert commit_of(tmp_path) == commit
