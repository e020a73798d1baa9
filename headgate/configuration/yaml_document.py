"""YAML data files, read into checked members: every error names the file and the path inside it.

Only the safe subset is loaded (no tags that make objects), and duplicate keys are refused: the second would
silently win (YAML 1.2, section 3.2.1.1 calls them an error).
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import yaml
from msgspec import Struct

from headgate.configuration.resources import resource_path
from headgate.kernel.canonical_json import JsonValue
from headgate.kernel.errors import ValidationError

_TEXT: Final = "tag:yaml.org,2002:str"
_LIST: Final = "tag:yaml.org,2002:seq"
_MAPPING: Final = "tag:yaml.org,2002:map"

_OwnLoader: Final = yaml.CSafeLoader
"""For files that come with Headgate: libyaml composes them. PyYAML's own reader took most of what starting an API or a
proxy costs."""


class _StrictLoader(yaml.composer.Composer, yaml.CSafeLoader):
    """The same for files of others: libyaml's binding composes by recursion in C, where brackets nested deeply enough
    end the process. PyYAML composes as well, in a third more time."""

    def __init__(self, stream: str) -> None:
        yaml.CSafeLoader.__init__(self, stream)
        yaml.composer.Composer.__init__(self)


class _Values:
    """The values of composed nodes. YAML has dates, binary values and sets, which no JSON value is; a mapping with two
    equal keys is refused."""

    def __init__(self, loader: yaml.CSafeLoader, characters: int) -> None:
        self._loader = loader
        self._members_left = characters

    def of(self, node: yaml.Node, where: str) -> JsonValue:
        """Raises ValidationError and YAMLError."""
        if isinstance(node, yaml.MappingNode) and node.tag == _MAPPING:
            self._count(node)
            members: dict[str, JsonValue] = {}
            for key_node, value in node.value:
                key = self._key(key_node)
                if key in members:
                    raise _construction_error(key_node, f"the key {key!r} is there twice")
                members[key] = value.value if _is_text(value) else self.of(value, f"{where}.{key}")
            return members
        if isinstance(node, yaml.SequenceNode) and node.tag == _LIST:
            self._count(node)
            return [
                one.value if _is_text(one) else self.of(one, f"{where}[{position}]")
                for position, one in enumerate(node.value)
            ]
        value = self._loader.construct_object(node, deep=True)
        if isinstance(value, str | int | float | bool | None):
            return value
        raise ValidationError(f"{where}: {type(value).__name__} is not a value of JSON; write it as text in quotes")

    def _key(self, node: yaml.Node) -> str:
        key = node.value if _is_text(node) else self._loader.construct_object(node, deep=True)
        if not isinstance(key, str):
            raise _construction_error(node, f"the key {key!r} is not text")
        return key

    def _count(self, node: yaml.CollectionNode) -> None:
        """Bounds aliases: a few lines of them could stand for a thousand million members. Without aliases, each member
        takes at least one character of the document."""
        self._members_left -= len(node.value)
        if self._members_left < 0:
            raise _construction_error(node, "aliases repeat more members than the document has characters")


def _is_text(node: yaml.Node) -> bool:
    return node.tag == _TEXT and isinstance(node, yaml.ScalarNode)


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


def _parsed(text: str, where: str, loader_class: type[yaml.CSafeLoader]) -> JsonValue:
    try:
        loader = loader_class(text)
        try:
            node = loader.get_single_node()
            return None if node is None else _Values(loader, len(text)).of(node, where)
        finally:
            loader.dispose()
    except (yaml.YAMLError, RecursionError) as error:
        raise ValidationError(f"{where}: not acceptable YAML: {error}") from error


def _document(plain: JsonValue, where: str) -> Section:
    if not isinstance(plain, dict):
        raise ValidationError(f"{where}: a mapping is required")
    return Section(where, plain)
