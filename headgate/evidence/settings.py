"""What checkpointing needs to know; made by the composition root from the process' configuration."""

from datetime import timedelta

from msgspec import Struct

from headgate.evidence.checkpointer import DEFAULT_EVENTS, DEFAULT_EVERY
from headgate.evidence.export_targets import Target
from headgate.evidence.signed_memory import SignedMemory
from headgate.evidence.signing_keys import SigningKeySource


class EvidenceSettings(Struct, frozen=True):
    """``keys`` sign, ``memory`` knows what was signed; a checkpoint after this time or so many events.

    ``targets``: where each is exported to.
    """

    keys: SigningKeySource
    memory: SignedMemory
    every: timedelta = DEFAULT_EVERY
    events: int = DEFAULT_EVENTS
    targets: tuple[Target, ...] = ()
