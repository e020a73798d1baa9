"""Whose folder is read, and what its settings may say."""

from pathlib import Path

import pytest

from headgate.classifiers.folder import TOKENIZER_BYTES_MAX, ClassifierFolder, classifier_folder
from headgate.judges.model import Failure, JudgeError


def _folder(root: Path, settings: str) -> ClassifierFolder:
    (root / "one").mkdir()
    (root / "one" / "classifier.yaml").write_text(settings)
    return classifier_folder(root, "one")


@pytest.mark.parametrize("name", ["..", ".", "", "../other", "a/b", "/etc", "a\\b", "a\0", ".hidden", "x" * 65, "gone"])
def test_a_name_does_not_lead_out_of_the_folder(tmp_path: Path, name: str) -> None:
    (tmp_path / "classifiers" / "good").mkdir(parents=True)
    (tmp_path / "other").mkdir()
    with pytest.raises(JudgeError, match="known: good") as raised:
        classifier_folder(tmp_path / "classifiers", name)
    assert raised.value.failure is Failure.NOT_CONFIGURED
    assert str(tmp_path) not in raised.value.message


def test_without_a_folder_nothing_can_be_asked() -> None:
    with pytest.raises(JudgeError, match="HEADGATE_CLASSIFIERS_DIR"):
        classifier_folder(None, "one")


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ("labels: [a, b]\n", "match: a list of 1 to"),
        ("labels: [a, b]\nmatch: [c]\n", "not among the labels: c"),
        ("labels: [a, a]\nmatch: [a]\n", "each once"),
        ("labels: [a, b]\nmatch: [a, b]\n", "leave one out"),
        ("labels: [a, b]\nmatch: [b]\nactivation: relu\n", "one of softmax, sigmoid"),
        ("labels: [a, b]\nmatch: [b]\nmax_tokens: 0\n", "from 8 to 8192"),
        ("labels: [a, b]\nmatch: [b]\nmax_tokens: true\n", "from 8 to 8192"),
        ("labels: [a, b]\nmatch: [b]\nmax_tokens: 16\nstride: 9\n", "from 0 to 8"),
        ("labels: [a, b]\nmatch: [b]\nthreshold: 1\n", "unknown"),
        ("[", "not acceptable YAML"),
    ],
)
def test_settings_that_cannot_be_meant_are_refused(tmp_path: Path, settings: str, said: str) -> None:
    with pytest.raises(JudgeError) as raised:
        _folder(tmp_path, settings).settings()
    assert said in raised.value.message
    assert str(tmp_path) not in raised.value.message


def test_a_file_that_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(JudgeError, match=r"one: tokenizer\.json: No such file"):
        _folder(tmp_path, "labels: [a, b]\nmatch: [b]\n").stamp()


def test_a_file_that_is_too_large_is_not_read(tmp_path: Path) -> None:
    folder = _folder(tmp_path, "labels: [a, b]\nmatch: [b]\n")
    with (folder.path / "tokenizer.json").open("wb") as file:
        file.truncate(TOKENIZER_BYTES_MAX + 1)
    with pytest.raises(JudgeError, match=r"tokenizer\.json has more than"):
        folder.stamp()
