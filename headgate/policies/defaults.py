"""The policies that a new organization starts with (semantics.md, "Combining and voting").

They have the last priorities, so the organization's own policies run first. Otherwise they are ordinary policies:
people can read, disable and delete them. ``config/policies/defaults`` holds their texts and ``config/policies/cases``
their cases, which a test runs.
"""

from functools import cache
from typing import Final

from msgspec import Struct

from headgate.configuration.resources import resource_path
from headgate.policies.model import SEEDED_PRIORITY


class DefaultPolicy(Struct, frozen=True):
    """``key`` is the file's name without the extension."""

    key: str
    name: str
    description: str
    rego_policy: str
    priority: int


_LISTED: Final = (
    (
        "model_providers",
        "Default: allow model providers",
        "Allows completions, embeddings and token counts by known model providers; holds those that let the provider "
        "act by itself.",
        SEEDED_PRIORITY - 1,  # Before the policy that holds every write.
    ),
    (
        "sign_in",
        "Default: allow signing in",
        "Allows requests for tokens at hosts that exist for signing in.",
        SEEDED_PRIORITY - 1,
    ),
    (
        "reads_and_writes",
        "Default: allow reads, hold writes",
        "Allows reads without a body and with URLs of at most 2 KB; every other call waits for an approval.",
        SEEDED_PRIORITY,
    ),
    (
        "deny_destructive",
        "Default: deny the destructive",
        "Refuses DELETE requests and operations that delete, drop, destroy, purge, truncate or wipe.",
        SEEDED_PRIORITY,
    ),
)


@cache
def default_policies() -> tuple[DefaultPolicy, ...]:
    """In the order in which they are seeded."""
    folder = resource_path("policies", "defaults")
    return tuple(
        DefaultPolicy(key, name, description, (folder / f"{key}.rego").read_text("utf-8"), priority)
        for key, name, description, priority in _LISTED
    )
