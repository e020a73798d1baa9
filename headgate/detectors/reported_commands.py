"""Who reports an attack runs none: a message to persons that quotes the command which a policy refused.

Only sentences, in a message, a comment or an issue, that say what it was (refused, detected, injectable, an indicator),
with the command between backticks or in a block, and that ask nobody to run it. A program may answer to messages: one
that begins with the sign of a command is none.
"""

import re
from typing import Final

from headgate.detectors.commands import find_commands
from headgate.detectors.limits import DEFAULT_LIMITS, Budget
from headgate.detectors.model import Finding, text_at_path
from headgate.kernel.canonical_json import JsonValue

_KINDS: Final = frozenset(
    ("dropper", "reverse_shell", "destructive_command", "data_upload", "disabled_defence", "miner")
)
_PATH: Final = re.compile(
    r"/(?:chat\.(?:postmessage|postephemeral|update|schedulemessage)|(?:issues|comments?|notes|discussions|reviews|messages|posts|threads"
    r"|incidents|replies)(?:/[\w-]{1,64})?)",
    re.IGNORECASE,
)
_MESSAGE: Final = frozenset(
    ("text", "body", "content", "message", "comment", "description", "markdown", "note", "summary", "value")
)
_REPORTED: Final = re.compile(
    r"\b(?:refused|blocked|denied|detected|prevented|quarantined|attempted|tried|attacker\w*|malicious|malware|iocs?"
    r"|indicators?|incident|honeypot|exploit\w*|injectable|injection|vulnerab\w*|cve-[0-9]{4}|suspicious|sigma|yara"
    r"|suricata|false positive|abgelehnt|blockiert|verhindert|erkannt|angreifer\w*|schwachstelle|vorfall|bloqu[ée]\w*"
    r"|détect\w*|attaquant\w*|vuln[ée]ra\w*|bloquead\w*|detectad\w*|atacante\w*|incidente|bloccat\w*|rilevat\w*"
    r"|attaccant\w*|zablokowan\w*|wykryt\w*)\b",
    re.IGNORECASE,
)
_ASKED: Final = re.compile(
    r"\b(?:(?:please|to fix|now|just|then|must|should|need to|can you|and) (?:run|execute|paste|type|apply|start)"
    r"|(?:run|execute|use|deploy) (?:this|it|the following|that)|copy (?:and paste|this)|as root|workaround|fix:"
    r"|past(?:e|ing)|terminal|laptops?|press enter|remed\w*|quick fix|@(?:claude|copilot|codex|devin|cursor)"
    r"|(?<!to )(?:run|execute|enter|type|apply)(?= +`)"
    r"|(?:remove|clean|fix|restore|repair)\b[^.\n`]{0,80}\b(?:run|execute)"
    r"|bitte (?:\w+ ){0,3}ausführen|führ\w* (?:\w+ ){0,3}aus|exécute[rz]|ejecut(?:a|e|en|ar)|esegui\w*|uruchom\w*)",
    re.IGNORECASE,
)
_QUOTED: Final = re.compile(r"```.*?```|`[^`\n]{1,400}`", re.DOTALL)
_SENTENCE: Final = re.compile(r"(?:[^\W\d_]{2,24},? ){3}[^\W\d_]{2,24}")
_COMMAND_SIGN: Final = ("/", "!", "#!", "$", ">", ".", "@")
_COMMAND_LINE: Final = re.compile(r"(?m)^[ \t]*[/!#][!\w ]")
"""In any line: bots read each, and a shell takes sentences behind ``#`` for a comment."""
_TEXT_MAX: Final = 4_000
_PLAIN_PATH: Final = re.compile(r"\$((?:\.[A-Za-z0-9_]+)+)")


def not_reported(findings: tuple[Finding, ...], value: JsonValue) -> tuple[Finding, ...]:
    """The findings that are no command quoted in the message that the call (``value``) sends."""
    if not any(one.kind in _KINDS for one in findings) or not isinstance(value, dict):
        return findings
    http = value.get("http")
    if not isinstance(http, dict) or http.get("method") not in ("POST", "PUT", "PATCH"):
        return findings
    path = str(http.get("path")).rstrip("/")
    if not any(found.end() == len(path) for found in _PATH.finditer(path)):
        return findings
    return tuple(one for one in findings if not _is_quoted(one, value))


def _is_quoted(finding: Finding, value: JsonValue) -> bool:
    """Whether nothing is left of it in its text without the quotations."""
    path = _path_of(finding)
    if finding.kind not in _KINDS or not path or path[0] not in ("body", "params"):
        return False
    name = next((one for one in reversed(path) if isinstance(one, str)), "")
    text = text_at_path(value, path)
    if (
        name.lower() not in _MESSAGE
        or text is None
        or len(text) > _TEXT_MAX
        or text.lstrip().startswith(_COMMAND_SIGN)
        or _COMMAND_LINE.search(text)
    ):
        return False
    around = _QUOTED.sub(" ` ", text)
    return (
        _SENTENCE.search(around) is not None
        and _REPORTED.search(around) is not None
        and _ASKED.search(around) is None
        and not any(find_commands(around.encode("utf-8", "replace"), Budget(DEFAULT_LIMITS)))
    )


def _path_of(finding: Finding) -> tuple[str | int, ...]:
    """Of the text that it stands in, as it was sent; empty: it was decoded, or its place has unusual names."""
    if finding.span is not None:
        return finding.span.path
    plain = _PLAIN_PATH.fullmatch(finding.place.path)
    return () if plain is None or finding.place.steps else tuple(plain[1].split(".")[1:])
