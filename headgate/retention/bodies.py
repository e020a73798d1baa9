"""An action's bodies as one text, which is encrypted when they are put away. Pure.

One data key for each body: erasing an action deletes its few keys and nobody else's, and nothing has to be encrypted
anew. The envelope is the vault's; its context names organization and action, so that a body moved to another action
does not open.
"""

import json
from collections.abc import Mapping
from typing import Any, Final

from msgspec import Struct

from headgate.kernel.canonical_json import canonical_bytes
from headgate.kernel.errors import UnavailableError
from headgate.kernel.secrets import Secret

ACTION_KIND: Final = "action"
_VERSION: Final = 1


class ActionBodies(Struct, frozen=True):
    """Exact texts as they stood in the rows: ``results`` by execution."""

    request: str
    results: Mapping[str, str]
    edited_request: str | None

    def text(self) -> Secret:
        return Secret(
            canonical_bytes(
                {
                    "edited_request": self.edited_request,
                    "request": self.request,
                    "results": dict(self.results),
                    "v": _VERSION,
                }
            ).decode()
        )


def envelope_name(action_id: str, kind: str = ACTION_KIND) -> str:
    """What the envelope is bound to."""
    return f"body/{action_id}/{kind}"


def parse_bodies(text: Secret) -> ActionBodies:
    """Raises UnavailableError for a text of another version."""
    document: Any = json.loads(text.reveal())
    if document.get("v") != _VERSION:
        raise UnavailableError("This body was stored by another version of Headgate.")
    return ActionBodies(document["request"], document["results"], document["edited_request"])
