"""Rows, source code and documents of a machine in a text: tables, listings of files, what a cloud says of itself."""

import json
import re
from itertools import pairwise
from typing import Final
from urllib.parse import unquote

import re2

_ROWS_MIN: Final = 3
_COLUMN_SIGNS: Final = ",;\t|:"
_ROW_SIGNS: Final = "~|;"
_COLUMNS_OF_ROWS: Final = {";": "|"}
"""Between rows that this sign separates, where it has other uses too."""
_COLUMNS_IN_ONE_LINE_MIN: Final = 2
_LISTED_FILE: Final = re.compile(r"(?m)^[-dlbcps][-rwxsStT]{9}[+.@]?\s+[0-9]+\s+\S+\s+\S+\s+[0-9]+")
_WORDS: Final = re.compile(r"[^\W\d_]{2,}")
_MEMBERS_OF_A_MACHINE: Final = frozenset(
    {"accountId", "instanceId", "instanceType", "imageId", "privateIp", "availabilityZone", "kernelId", "pendingTime"}
    | {"subscriptionId", "resourceGroupName", "vmId", "vmSize", "osProfile", "networkInterfaces", "machineType"}
    | {"serviceAccounts", "numericProjectId", "projectId", "hostname", "AccessKeyId", "SecretAccessKey", "Expiration"}
)
"""Of the identity documents of AWS, Azure and Google Cloud."""
_MEMBERS_MIN: Final = 4


# RE2, which reads a text once: lines that end late cost the module re seconds.
_SOURCE_LINE: Final = re2.compile(
    r"(?m)^[ \t]*(?:(?:async )?def \w+\(.*\).*:$|class \w+.*[:{]$|import [\w.]+;?$|from [\w.]+ import |#include "
    r"|(?:export )?(?:async )?function \w*\(|(?:const|let|var) \w+ = |return [^.]{1,80};?$|(?:if|for) .{1,80}[:{]$"
    r"|\w+(?:\.\w+)* [-+]?= .{1,120};?$|\}|package \w+;?$|(?:public|private|protected|static|func|fn) .{1,120}\{$)"
)
_DIFF: Final = re2.compile(
    r"(?m)^(?:diff --git a/|@@ -[0-9]+(?:,[0-9]+)? \+[0-9]+|INSERT INTO \S+.{0,400}\bVALUES\b|export [A-Z_]{2,40}=)"
)
_SOURCE_LINES_MIN: Final = 3
_ASSIGNMENT: Final = re.compile(r" ?[A-Za-z_]\w{0,40} ?=")
_ASSIGNED_MIN: Final = 3


def is_source(text: str) -> bool:
    """Source code, a diff of it, or a dump of a database."""
    return _DIFF.search(text) is not None or len(_SOURCE_LINE.findall(text)) >= _SOURCE_LINES_MIN


def is_assignments(segment: str) -> bool:
    """Whether a segment of a path, as it is sent, has several assignments in encoded signs: a configuration or a rule
    in the name of a file. Parameters that a server reads from a path are not encoded, and an address in a path has
    assignments of its own."""
    if segment.upper().count("%3D") < _ASSIGNED_MIN or "%3A%2F%2F" in segment.upper():
        return False
    parts = re.split(r"[;|\n]", unquote(segment))
    return sum(_ASSIGNMENT.match(one) is not None for one in parts) >= _ASSIGNED_MIN


def is_table(text: str) -> bool:
    """Several lines with the same columns, rows of a database, or files with their modes; and no query in lines."""
    # A query or a program ends its lines so.
    lines = [line.rstrip("; ") for line in text.splitlines() if line.strip()] if "\n" in text else []
    if len(lines) >= _ROWS_MIN:
        return len(_LISTED_FILE.findall(text)) >= _ROWS_MIN - 1 or any(
            lines[0].count(sign) > 0 and all(line.count(sign) == lines[0].count(sign) for line in lines)
            for sign in _COLUMN_SIGNS
        )
    return any(
        _has_rows(text.split(row_sign), row_sign) for row_sign in _ROW_SIGNS if text.count(row_sign) >= _ROWS_MIN - 1
    )


def _has_rows(rows: list[str], row_sign: str) -> bool:
    """Rows in one line: neighbors with the same columns, or one less, in words and numbers. Coordinates have none."""
    alike = 1
    for one, other in pairwise(rows):
        counts = (
            (one.count(sign), other.count(sign))
            for sign in _COLUMNS_OF_ROWS.get(row_sign, _COLUMN_SIGNS)
            if sign != row_sign
        )
        signs = [it for it in counts if min(it) >= _COLUMNS_IN_ONE_LINE_MIN and abs(it[0] - it[1]) <= 1]
        has_words = all(_WORDS.search(row) and any(map(str.isdigit, row)) for row in (one, other))
        alike = alike + 1 if signs and has_words else 1
        if alike >= _ROWS_MIN:
            return True
    return False


def is_identity_of_machine(text: str) -> bool:
    """Whether it is a JSON document in which a cloud tells a machine who it is."""
    if not text.startswith("{"):
        return False
    try:
        document = json.loads(text)
    except ValueError:
        return False
    return len(_MEMBERS_OF_A_MACHINE.intersection(document)) >= _MEMBERS_MIN
