"""The folder of one classifier: ``classifier.yaml``, ``tokenizer.json`` and ``model.onnx``.

The folder above it is the operator's (HEADGATE_CLASSIFIERS_DIR); administrators of organizations name only a folder
in it, by a name that cannot lead out of it. Links inside it are the operator's own, and are followed.
"""

import hashlib
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from msgspec import Struct

from headgate.classifiers.model import Activation, ClassifierSettings
from headgate.configuration.yaml_document import Section, read_document
from headgate.judges.model import Failure, JudgeError
from headgate.kernel.errors import ValidationError

CLASSIFIER_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
MODEL_BYTES_MAX: Final = 1024 * 1024 * 1024
TOKENIZER_BYTES_MAX: Final = 64 * 1024 * 1024
TOKENS_MAX: Final = 8192
LABELS_MAX: Final = 100
_SETTINGS_BYTES_MAX: Final = 64 * 1024
_TOKENS_MIN: Final = 8
_LABEL_MAX_CHARACTERS: Final = 100
_DEFAULT_TOKENS: Final = 512
_NAMED_MAX: Final = 20
_FILES: Final = {
    "classifier.yaml": _SETTINGS_BYTES_MAX,
    "tokenizer.json": TOKENIZER_BYTES_MAX,
    "model.onnx": MODEL_BYTES_MAX,
}

type Stamp = tuple[tuple[int, int, int], ...]
"""When each file was changed, its size and its inode: another stamp is another classifier."""


class ClassifierFolder(Struct, frozen=True):
    name: str
    path: Path

    @property
    def model(self) -> Path:
        return self.path / "model.onnx"

    @property
    def tokenizer(self) -> Path:
        return self.path / "tokenizer.json"

    def stamp(self) -> Stamp:
        """Raises JudgeError where a file is missing or too large."""
        return tuple(self._stamp_of(name, most) for name, most in _FILES.items())

    def digest(self) -> str:
        """SHA-256 over the digests of the three files. Raises JudgeError."""
        whole = hashlib.sha256()
        for name in _FILES:
            try:
                with (self.path / name).open("rb") as file:
                    whole.update(hashlib.file_digest(file, "sha256").digest())
            except OSError as error:
                raise self.unusable(f"{name} cannot be read: {error.strerror}") from error
        return whole.hexdigest()

    def settings(self) -> ClassifierSettings:
        """Raises JudgeError."""
        try:
            return _settings(read_document(self.path / "classifier.yaml"))
        except ValidationError as error:
            raise self.unusable(error.message.replace(f"{self.path}/", "")) from error

    def unusable(self, reason: str) -> JudgeError:
        return JudgeError(Failure.NOT_CONFIGURED, f"the classifier {self.name}: {reason}")

    def _stamp_of(self, name: str, most: int) -> tuple[int, int, int]:
        try:
            found = (self.path / name).stat()
        except OSError as error:
            raise self.unusable(f"{name}: {error.strerror}") from error
        if found.st_size > most:
            raise self.unusable(f"{name} has more than {most} bytes")
        return found.st_mtime_ns, found.st_size, found.st_ino


def classifier_folder(root: Path | None, name: str) -> ClassifierFolder:
    """Raises JudgeError: no folder of classifiers is set, or none in it has this name."""
    if root is None:
        raise JudgeError(Failure.NOT_CONFIGURED, "no folder of classifiers is set (HEADGATE_CLASSIFIERS_DIR)")
    if CLASSIFIER_NAME.fullmatch(name) is None or not (root / name).is_dir():
        known = ", ".join(_names(root)[:_NAMED_MAX]) or "none"
        raise JudgeError(Failure.NOT_CONFIGURED, f"there is no classifier of this name; known: {known}")
    return ClassifierFolder(name, root / name)


def _names(root: Path) -> Sequence[str]:
    try:
        return sorted(one.name for one in root.iterdir() if CLASSIFIER_NAME.fullmatch(one.name) and one.is_dir())
    except OSError:
        return ()


def _settings(document: Section) -> ClassifierSettings:
    document.only("labels", "match", "activation", "max_tokens", "stride")
    labels = _labels(document, "labels")
    match = _labels(document, "match")
    if unknown := [one for one in match if one not in labels]:
        raise document.fail("match", f"not among the labels: {', '.join(unknown)}")
    activation = document.text("activation", Activation.SOFTMAX.value)
    if activation not in list(Activation):
        raise document.fail("activation", f"one of {', '.join(Activation)}")
    if activation == Activation.SOFTMAX and len(match) == len(labels):
        raise document.fail("match", "with softmax, labels that all count make every score 1: leave one out")
    max_tokens = _whole(document, "max_tokens", _DEFAULT_TOKENS, _TOKENS_MIN, TOKENS_MAX)
    stride = _whole(document, "stride", max_tokens // 8, 0, max_tokens // 2)
    return ClassifierSettings(labels, match, Activation(activation), max_tokens, stride)


def _labels(document: Section, key: str) -> tuple[str, ...]:
    labels = tuple(document.strings(key))
    if not 0 < len(labels) <= LABELS_MAX or len(set(labels)) < len(labels):
        raise document.fail(key, f"a list of 1 to {LABELS_MAX} labels, each once, is required")
    if any(len(one) > _LABEL_MAX_CHARACTERS or not one.isprintable() for one in labels):
        raise document.fail(key, f"a label has at most {_LABEL_MAX_CHARACTERS} printable characters")
    return labels


def _whole(document: Section, key: str, default: int, least: int, most: int) -> int:
    value = document.members.get(key, default)
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise document.fail(key, f"a whole number from {least} to {most} is required")
    return value
