"""A captured request as a curl command that a person can paste: what was masked stands as a placeholder.

Everything that an agent wrote is one quoted word. ``--data-raw`` and ``--globoff``, because curl itself reads ``@file``
in a body and ``{a,b}`` in an address otherwise; control characters in bash's own quotes ($'…'), so that nothing that is
pasted or shown acts on the terminal.
"""

import re
import shlex
from collections.abc import Mapping
from typing import Any, Final

from headgate.kernel.secrets import MASK

# What curl makes itself, or what belongs to the connection that it was sent on.
_LEFT_OUT: Final = frozenset(
    {"host", "content-length", "transfer-encoding", "connection", "content-encoding", "accept-encoding", "expect"}
)
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]")
_NAME: Final = re.compile(r"[^A-Za-z0-9]+")


def curl_command(document: Mapping[str, Any]) -> str:
    """Of the document of an exchange; a body of which only the beginning was kept is sent so, and a comment says it."""
    request: Any = document["request"]
    target = request["path"] + (f"?{request['query']}" if request["query"] else "")
    host = f"[{request['host']}]" if ":" in request["host"] else request["host"]
    url = f"{request['scheme']}://{host}:{request['port']}{_with_placeholders(target, 'QUERY')}"
    words = ["curl", "--globoff", "--path-as-is", *_method(request), "--url", _word(url)]
    for name, value in request["headers"]:
        if name.lower() not in _LEFT_OUT and not name.startswith(":"):
            field = f"{name}: {_with_placeholders(value, name)}" if value else f"{name};"
            words += ["--header", _word(field)]
    if request["body"]:
        words += ["--data-raw", _word(_with_placeholders(request["body"], "BODY"))]
    command = " ".join(words)
    if request["body"] is None and request["size_bytes"]:
        return f"{command} # its body was not captured"
    return command if request["is_whole"] or not request["body"] else f"{command} # only the beginning of its body"


def _method(request: Any) -> list[str]:
    """To ``--request HEAD`` curl waits for the body that the answer's length promises, and that never comes."""
    return (
        ["--head"] if request["method"] == "HEAD" and not request["body"] else ["--request", _word(request["method"])]
    )


def _with_placeholders(text: str, where: str) -> str:
    return text.replace(MASK, f"<{_NAME.sub('_', where).strip('_').upper() or 'SECRET'}>")


def _word(text: str) -> str:
    if _CONTROL.search(text) is None:
        return shlex.quote(text)
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return "$'" + _CONTROL.sub(_escape, escaped) + "'"


def _escape(found: "re.Match[str]") -> str:
    if found[0] == "\n":
        return "\\n"
    return "".join(f"\\x{byte:02x}" for byte in found[0].encode()) if found[0] != "\0" else "%00"
