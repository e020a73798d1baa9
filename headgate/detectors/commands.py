"""What a command or a file's name in a request would do to the machine that runs it: a heuristic by patterns.

Files that hold credentials or run at start-up, metadata of cloud machines, programs fetched and run, shells handed to
somebody else, data piped out, defences switched off, data destroyed, miners, entities that read files (MITRE ATT&CK
T1552, T1546, T1105, T1059, T1048, T1562, T1485, T1490, T1496; CWE-611). A command is read as it is written and as a
shell would run it. The name of a file counts less in prose than by itself or in a command.
``config/detectors/commands.yaml`` is the table.
"""

import re
from collections.abc import Iterator
from fnmatch import translate
from functools import cache
from heapq import merge
from typing import Final

from msgspec import Struct
from regorus import BytePattern

from headgate.configuration.resources import resource_path
from headgate.configuration.yaml_document import Section, read_document
from headgate.detectors.limits import Budget
from headgate.detectors.model import Match
from headgate.detectors.shell import opened, plain_command
from headgate.detectors.table_entries import compiled, weight_of
from headgate.detectors.transfers import MONEY_TRANSFER

_BEFORE_BYTES: Final = 256
_AFTER_BYTES: Final = 1024
_NAMED: Final = 0.8
_IN_A_COMMAND: Final = 0.75
_IN_PROSE: Final = 0.35
_END: Final = r"""(?:$|[\s"'<>|;&),:?#\x00]|%00)"""
_NAME: Final = r"(?:[^\n:]+:\s+)?"
"""A member's name, in its words and as it is written, stands before its value in a document."""

_ROOTED: Final = r"""(?:[/~]|[a-z]:[/\\])[^\n"';|&]*"""
"""A name that begins at a root may have spaces in it: ``Application Support``."""

_COMMAND: Final = (
    r"""(?:^|[;&|`(:"']|\bsudo|\$)\s*(?:cat|tac|less|more|head|tail|nl|rev|sort|cut|cp|mv|dd|scp|rsync|sftp|tar|zip"""
    r"|gzip|base64|base32|xxd|od|hexdump|strings|e?grep|rg|awk|sed|vi|vim|nano|source|openssl|type|get-content|gc|xcopy"
    r"|curl|wget|nc|ncat|tee|echo|printf|chmod|chown|ln|find|jq|exec|install|touch|rm|python[0-9.]*|perl|ruby|node|php"
    r"|copy-item|cpi|move-item|compress-archive|robocopy|esentutl|7z|sqlite3|rclone|gsutil|azcopy|aws\s+s3)"
    r"\b"
)
_CLIMBING: Final = r"""(?:\.\.[/\\]+){3,}[^\s"']*"""
"""A path that leaves the folder it begins in (CWE-22)."""

_GLOB: Final = re.compile(r"(?<!\S)[/~](?:[^\s?*\[]{0,64}[?\[]\S{0,64}|[^\s?\[]{0,64}[\w.]\*[\w/][^\s?\[]{0,64})(?!\S)")
"""With a place for a single character, or for some within a word: ``/etc/*`` is what people write."""

_COMMENT: Final = re.compile(r"/\*[^*]{0,200}\*/")

_TRICKS: Final = (
    r"""\w(?:''|""|\\)\w|\$'|\$\{?IFS|\$[@*]|\{\w+,[^\s{}]+\}|\b[a-z_]{1,8}=[^\s;&|]{0,16};|\\(?:x[0-9a-f]{2}|[0-7]{3})"""
    r"""|\w['"]\w+['"]\w|[/~]\S{0,32}\?\S{0,32}[?/]|~/\S{0,16}[\w.]\*\w|/etc/\w+\*\w|`\w|\$\(\w|\$\{\w+:?-"""
)


class Sign(Struct, frozen=True):
    """``kind`` is what a match is called; ``weight`` how much one says, from 0 to 1; ``unless``: what, in the text that
    matches, makes it ordinary, as the name of a database for tests."""

    kind: str
    pattern: BytePattern
    weight: float
    unless: BytePattern | None = None

    def places(self, text: bytes) -> Iterator[tuple[int, int]]:
        for found in self.pattern.finditer(text):
            if self.unless is None or self.unless.search(found[0]) is None:
                yield found.span()


class Commands(Struct, frozen=True):
    """``anchors``: what has to stand there for any sign to match, or for a shell to read another command. ``globbed``:
    names of files with their kinds, for patterns that a shell would expand to them (``/e?c/sh?dow``)."""

    anchors: tuple[BytePattern, BytePattern]
    """Each by itself: one pattern of both has more states than there is room for, and took 3 ms for each KB."""
    signs: tuple[Sign, ...]
    globbed: tuple[tuple[str, str], ...]


@cache
def _table() -> Section:
    document = read_document(resource_path("detectors", "commands.yaml"))
    document.only("anchors", "files", "globbed", "signs")
    return document


@cache
def commands() -> Commands:
    """Of ``config/detectors/commands.yaml``. Raises ValidationError."""
    document = _table()
    files = document.section("files")
    signs = [one for kind in files.members for one in _file_signs(kind, files)]
    signs += [_sign(section) for section in document.sections("signs")]
    words = "|".join(document.strings("anchors"))
    names = document.section("globbed")
    globbed = tuple((name, kind) for kind in names.members for name in names.strings(kind))
    anchors = _compiled(document, words), _compiled(document, _TRICKS)
    return Commands(anchors, tuple(signs), globbed)


def command_kinds() -> frozenset[str]:
    """Those of the table, and of the calls that move money. No pattern is compiled for it: every process that starts
    asks. Raises ValidationError."""
    signs = (sign.text("kind") for sign in _table().sections("signs"))
    return frozenset((MONEY_TRANSFER, *_table().section("files").members, *signs))


def find_commands(buffer: bytes, budget: Budget) -> Iterator[Match]:
    """In no order, and perhaps one place more than once."""
    table = commands()
    budget.new_pass(len(buffer))
    read_to = 0
    for hit_start, hit_end in merge(*((hit.span() for hit in anchor.finditer(buffer)) for anchor in table.anchors)):
        if hit_start < read_to:
            continue
        if not budget.allows_candidate():
            return
        start, read_to = _around(buffer, hit_start, hit_end, read_to)
        yield from _signs(table, buffer, start, read_to)


def _around(buffer: bytes, start: int, end: int, read_to: int) -> tuple[int, int]:
    """The line about a hit, of a long one what is near; lines that a backslash continues are one."""
    floor = max(read_to, start - _BEFORE_BYTES)
    line_start = buffer.rfind(b"\n", floor, start) + 1 or floor
    ceiling = min(len(buffer), end + _AFTER_BYTES)
    line_end = buffer.find(b"\n", end, ceiling)
    while line_end > 0 and buffer[line_end - 1 : line_end] == b"\\":
        line_end = buffer.find(b"\n", line_end + 1, ceiling)
    return line_start, line_end if line_end >= 0 else ceiling


def _signs(table: Commands, buffer: bytes, start: int, end: int) -> Iterator[Match]:
    line = buffer[start:end]
    for sign in table.signs:
        for found_start, found_end in sign.places(line):
            yield Match(sign.kind, start + found_start, start + found_end, sign.weight)
    written = line.decode("utf-8", "replace")
    plain = plain_command(written)
    yield from (Match(kind, start, end, _IN_A_COMMAND) for kind in _expanded(table, plain))
    others = dict.fromkeys((plain, opened(plain), *_without_comments(written)))
    readings = [one.encode("utf-8", "replace") for one in others if one != written]
    for sign in table.signs:
        if any(any(sign.places(one)) for one in readings) and sign.pattern.search(line) is None:
            yield Match(sign.kind, start, end, sign.weight)


def _without_comments(statement: str) -> tuple[str, ...]:
    """Comments of SQL cut words or stand between them, so that filters do not read them (MITRE ATT&CK T1027)."""
    if "*/" not in statement or _COMMENT.search(statement) is None:
        return ()
    return _COMMENT.sub(" ", statement), _COMMENT.sub("", statement)


def _expanded(table: Commands, command: str) -> Iterator[str]:
    """The kinds of files to whose names a shell would expand a word of the command."""
    for word in _GLOB.findall(command):
        expanded = re.compile(translate(word))
        yield from (kind for name, kind in table.globbed if expanded.fullmatch(name))


def _sign(section: Section) -> Sign:
    section.only("kind", "weight", "pattern", "unless", "example")
    unless = _compiled(section, section.text("unless")) if "unless" in section.members else None
    return Sign(section.text("kind"), _compiled(section, section.text("pattern")), weight_of(section), unless)


def _file_signs(kind: str, files: Section) -> Iterator[Sign]:
    path = f"(?:{'|'.join(files.strings(kind))})"
    yield Sign(kind, _compiled(files, rf"^\s*{_NAME}(?:file://)?(?:{_ROOTED}|[^\s\n]*){path}\s*$"), _NAMED)
    in_command = rf"""(?:{_COMMAND}[^\n;&]*|(?:<|>|@|\(["'])\s*[^\s"']*|{_CLIMBING}){path}{_END}"""
    yield Sign(kind, _compiled(files, in_command), _IN_A_COMMAND)
    yield Sign(kind, _compiled(files, f"{path}{_END}"), _IN_PROSE)


def _compiled(section: Section, pattern: str) -> BytePattern:
    return compiled(section, f"(?im){pattern}")
