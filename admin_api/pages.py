"""Pages for people: rendered here, without script, under a policy that lets nothing in that is not ours.

Values are escaped (autoescape), a name that is not there is an error (StrictUndefined), and characters that hide or
reorder text are made visible in everything that is printed.
"""

import json
import re
import unicodedata
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final
from urllib.parse import parse_qsl, quote, urlencode

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape
from pydantic import BaseModel
from starlette.responses import Response

from admin_api.assets import asset
from admin_api.durations import lasted, took
from admin_api.table_rows import rows_as_cards
from headgate.kernel.canonical_json import JsonValue
from headgate.kernel.clock import rfc3339
from headgate.kernel.visible_text import hidden_in, is_hidden, visible
from headgate.protocols.shown_call import shown_authority, shown_method

_HERE: Final = Path(__file__).parent
_WHOLE_ID_CHARACTERS: Final = 16
_LAYOUT: Final = "\n\t"
_WRITTEN_OUT: Final = re.compile(r"\\u\{(10[0-9a-f]{4}|[0-9a-f]{1,5})\}")
_SECURITY: Final = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self';"
        " form-action 'self'; base-uri 'none'; frame-ancestors 'none';"
        " require-trusted-types-for 'script'; trusted-types 'none'"
    ),
    # With no-referrer a browser would send Origin: null with the page's own form.
    "Referrer-Policy": "same-origin",
    "Cache-Control": "no-store",
}


def _shown(value: object) -> object:
    return visible(value) if type(value) is str else value


def _boxed(value: object) -> Markup:
    """Each hidden character as a box with its code point, so that a reader sees that it is there."""
    return Markup(_WRITTEN_OUT.sub(_box, str(escape(visible(str(value), kept=_LAYOUT)))))  # noqa: S704 - it is escaped


def _box(found: re.Match[str]) -> str:
    """What the text spells out itself, as ``\\u{41}``, stays as it is."""
    code = int(found[1], 16)
    if not is_hidden(chr(code)):
        return found[0]
    return f'<span class="hid" title="{unicodedata.name(chr(code), "control character")}">U+{code:04X}</span>'


def _json_source(text: str) -> Markup:
    """JSON in a field that is edited and sent back: hidden characters as JSON's own escapes, lines kept."""
    escaped = {ord(one): json.dumps(one)[1:-1] for one in hidden_in(text, kept=_LAYOUT)}
    return Markup(escape(text.translate(escaped)))  # noqa: S704 - it is escaped


def _short_id(value: str) -> str:
    """``apr_01a1…bed3``: the beginning tells the kind, the end tells two apart."""
    return value if len(value) <= _WHOLE_ID_CHARACTERS else f"{value[:8]}…{value[-4:]}"


def _json_text(value: JsonValue) -> str:
    """A text as it is; anything else as JSON."""
    return value if isinstance(value, str) else json.dumps(value, indent=2, ensure_ascii=False)


def _query(given: Mapping[str, object], **changes: object) -> str:
    """The query of an address, with its question mark; empty where nothing is given."""
    pairs = {name: value for name, value in {**given, **changes}.items() if value}
    return f"?{urlencode(pairs, safe='/', quote_via=quote)}" if pairs else ""


def _without_agent(sentence: str, agent: str) -> str:
    """What the agent wants to do. A long name is cut in the sentence."""
    name, found, rest = sentence.partition(" wants to ")
    is_agent = name == agent or (name.endswith("…") and agent.startswith(name[:-1]))
    return _capital(rest if found and is_agent else sentence)


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _authority(call: Mapping[str, object] | BaseModel) -> str:
    """Of a recorded request, or of an answer about one."""
    said = call if isinstance(call, Mapping) else dict(call)
    return shown_authority(said.get("scheme"), said["host"], said.get("port"))


_TEMPLATES: Final = Environment(
    loader=FileSystemLoader(_HERE / "templates"),
    autoescape=True,
    undefined=StrictUndefined,
    finalize=_shown,
    trim_blocks=True,
    lstrip_blocks=True,
)
_TEMPLATES.globals["asset"] = asset
_TEMPLATES.filters |= {
    "authority": _authority,
    "boxed": _boxed,
    "exact": lambda text: Markup(escape(text)),  # noqa: S704 - it is escaped
    "instant": lambda text: datetime.fromisoformat(text) if text else None,
    "iso": rfc3339,
    "lasted": lasted,
    "json_source": _json_source,
    "json_text": _json_text,
    "numbers": lambda params: [name for name, value in params.items() if type(value) in (int, float)],
    "query": _query,
    "rows_as_cards": rows_as_cards,
    "sent_as": lambda method, tool, operation: shown_method(tool, operation, method),
    "short_id": _short_id,
    "took": took,
    "twice": lambda value: (value, value),
    "utc": lambda at: at.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S UTC"),
    "without_agent": _without_agent,
}


def page(template: str, context: Mapping[str, object], *, status: int = 200) -> Response:
    return Response(_TEMPLATES.get_template(template).render(context), status, _SECURITY, "text/html")


def see_other(location: str) -> Response:
    """Go on there with GET (RFC 9110, section 15.4.4): what a form that was carried out answers."""
    return Response(status_code=303, headers={"Location": location})


def list_or_item(list_path: str, list_query: str, item_id: str) -> str:
    """Returns the page that a form of an item was on: the list with this query, or without one the item's own page."""
    query = _query(dict(parse_qsl(list_query.removeprefix("?"))))
    return f"{list_path}{query or f'/{item_id}'}"


def pages(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """For ``responses`` of a route that answers people in pages, refusals included."""
    return {status: {"description": "A page", "content": {"text/html": {}}} for status in statuses}
