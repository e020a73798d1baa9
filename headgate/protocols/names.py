"""Names that fit the specification's pattern for tool and operation, ``^[a-z][a-z0-9_]*$``, 1 to 64 long.

A name that had to be changed carries eight hexadecimal digits of its SHA-256, so that ``deleteRepo`` and
``delete_repo`` stay apart (semantics.md, "The action and what an approval covers").
"""

import hashlib
import re
from typing import Final

from headgate.kernel.call_name import NAME_LENGTH_MAX, fits

CALL_TOOLS: Final = frozenset({"a2a", "aws", "dns", "git", "grpc", "http", "jsonrpc", "llm", "soap", "websocket"})
"""Tools of calls that no catalogue lists, whose address tells a person more than the name of tool and operation."""
_HUMP: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_UNFIT: Final = re.compile(r"[^a-z0-9]+")
_HOST: Final = re.compile(r"[a-z0-9.-]{1,60}")
_LETTERS: Final = re.compile(r"[A-Z]{1,32}")
_HASH_DIGITS: Final = 8


def fit_name(original: str) -> str:
    """``original`` where it fits, else a readable form of it with a hash suffix."""
    return original if fits(original) else altered_name(original)


def altered_name(original: str) -> str:
    """A name for ``original`` that is never ``original`` itself: for names that are reserved."""
    readable = _UNFIT.sub("_", _HUMP.sub("_", original).lower()).strip("_")
    if not readable or not readable[0].isalpha():
        readable = "n_" + readable
    digest = hashlib.sha256(original.encode("utf-8", "surrogatepass")).hexdigest()[:_HASH_DIGITS]
    return f"{readable[: NAME_LENGTH_MAX - _HASH_DIGITS - 1].rstrip('_')}_{digest}"


def method_operation(method: str, prefix: str = "") -> str:
    """The operation of a call that only its method names: lower case loses nothing, as methods are upper case."""
    return prefix + (method.lower() if _LETTERS.fullmatch(method) is not None else fit_name(method.lower()))


def mcp_server_tool(host: str, port: int) -> str:
    """The tool name of an MCP server that no catalogue names.

    The prefix keeps it apart from the tools of catalogues; ``-`` is doubled, as ``_`` stands for the dot.
    """
    name = host if port in (80, 443) else f"{host}.{port}"
    if _HOST.fullmatch(name) is not None:
        simple = "mcp_" + name.replace("-", "__").replace(".", "_")
        if len(simple) <= NAME_LENGTH_MAX:
            return simple
    return altered_name(f"mcp_{name}")
