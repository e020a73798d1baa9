"""YAML data files, read into checked members: every error names the file and the path inside it.

Only the safe subset is loaded (no tags that make objects), and duplicate keys are refused: the second would
silently win (YAML 1.2, section 3.2.1.1 calls them an error).
"""

from collections.abc import Hashable, Sequence
from pathlib import Path

import yaml
from msgspec import Struct

from headgate.configuration.resources import resource_path
from headgate.kernel.canonical_json import JsonValue
from headgate.kernel.errors import ValidationError


class _OwnLoader(yaml.CSafeLoader):
    """SafeLoader that refuses a mapping with two equal keys, for files that come with Headgate.

    Read by libyaml: PyYAML's own reader took most of what starting an API or a proxy costs.
    """

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, object]:
        seen: set[object] = set()
        for key_node, _ in node.value:
            key = self.construct_object(key_node, deep=True)
            if not isinstance(key, str):
                raise _construction_error(key_node, f"the key {key!r} is not text")
            if key in seen:
                raise _construction_error(key_node, f"the key {key!r} is there twice")
            seen.add(key)
        return super().construct_mapping(node, deep)


class _StrictLoader(yaml.composer.Composer, _OwnLoader):
    """The same for files of others: libyaml's binding composes by recursion in C, where brackets nested deeply enough
    end the process. PyYAML composes as well, in a third more time."""

    def __init__(self, stream: str) -> None:
        _OwnLoader.__init__(self, stream)
        yaml.composer.Composer.__init__(self)


def _construction_error(node: yaml.Node, problem: str) -> yaml.constructor.ConstructorError:
    return yaml.constructor.ConstructorError(None, None, problem, node.start_mark)


class Section(Struct, frozen=True):
    """One mapping of a document. ``where``: the file and the path to it, for errors."""

    where: str
    members: dict[str, JsonValue]

    def fail(self, key: str, reason: str) -> ValidationError:
        return ValidationError(f"{self.where}.{key}: {reason}", details={"field": key, "reason": reason})

    def only(self, *known: str) -> None:
        """Raises ValidationError for a member with another name: a typing error must not pass for a default."""
        for key in self.members:
            if key not in known:
                raise self.fail(key, f"unknown; known here: {', '.join(known)}")

    def text(self, key: str, default: str | None = None) -> str:
        value = self.members.get(key, default)
        if not isinstance(value, str) or not value:
            raise self.fail(key, "a text is required")
        return value

    def strings(self, key: str) -> Sequence[str]:
        """A list of texts; one text stands for a list of one; absent: empty."""
        value = self.members.get(key, [])
        if isinstance(value, str):
            return (value,)
        if not isinstance(value, list):
            raise self.fail(key, "a list of texts is required")
        return tuple(self._string(key, one) for one in value)

    def _string(self, key: str, value: JsonValue) -> str:
        if not isinstance(value, str) or not value:
            raise self.fail(key, f"{value!r} is not a text")
        return value

    def section(self, key: str) -> "Section":
        """Absent: empty."""
        value = self.members.get(key, {})
        if not isinstance(value, dict):
            raise self.fail(key, "a mapping is required")
        return Section(f"{self.where}.{key}", value)

    def sections(self, key: str) -> Sequence["Section"]:
        value = self.members.get(key, [])
        if not isinstance(value, list):
            raise self.fail(key, "a list is required")
        found: list[Section] = []
        for position, one in enumerate(value):
            if not isinstance(one, dict):
                raise self.fail(f"{key}[{position}]", "a mapping is required")
            found.append(Section(f"{self.where}.{key}[{position}]", one))
        return found


def read_document(path: Path) -> Section:
    """Raises ValidationError: no such file, not YAML, not a mapping."""
    loader = _OwnLoader if path.is_relative_to(resource_path()) else _StrictLoader
    return _document(_parsed(read_text(path), str(path), loader), str(path))


def read_text(path: Path) -> str:
    """Raises ValidationError: no such file, not UTF-8."""
    try:
        return path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ValidationError(f"{path}: cannot be read: {error}") from error


def parse_value(text: str, *, where: str) -> JsonValue:
    """Any value. Raises ValidationError."""
    return _parsed(text, where, _StrictLoader)


def parse_document(text: str, *, where: str) -> Section:
    """Raises ValidationError."""
    return _document(parse_value(text, where=where), where)


def _parsed(text: str, where: str, loader: type[_OwnLoader]) -> JsonValue:
    try:
        # Within: a list that is in itself has no end.
        return _plain(yaml.load(text, Loader=loader), where)  # noqa: S506 - a SafeLoader with one more check
    except (yaml.YAMLError, RecursionError) as error:
        raise ValidationError(f"{where}: not acceptable YAML: {error}") from error


def _document(plain: JsonValue, where: str) -> Section:
    if not isinstance(plain, dict):
        raise ValidationError(f"{where}: a mapping is required")
    return Section(where, plain)


def _plain(value: object, where: str) -> JsonValue:
    """YAML has dates and binary values, which no JSON value is."""
    if isinstance(value, dict):
        return {str(key): _plain(one, f"{where}.{key}") for key, one in value.items()}
    if isinstance(value, list):
        return [_plain(one, f"{where}[{position}]") for position, one in enumerate(value)]
    if isinstance(value, str | int | float | bool | None):
        return value
    raise ValidationError(f"{where}: {type(value).__name__} is not a value of JSON; write it as text in quotes")
