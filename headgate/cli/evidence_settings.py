"""The process' settings as the evidence slice takes them."""

from datetime import timedelta

from headgate.configuration.settings import Settings
from headgate.evidence.export_targets import parse_targets
from headgate.evidence.settings import EvidenceSettings
from headgate.evidence.signed_memory import SignedMemory
from headgate.evidence.signing_keys import SigningKeySource
from headgate.kms.access import kms_access
from headgate.kms.key_services import KeyServices


def signing_key_source(settings: Settings) -> SigningKeySource:
    file = settings.signing_keys_file or settings.data.signing_keys
    return SigningKeySource(file, settings.signing_keys, KeyServices(kms_access(settings)))


def evidence_settings(settings: Settings) -> EvidenceSettings:
    return EvidenceSettings(
        keys=signing_key_source(settings),
        memory=SignedMemory(settings.data.signed_checkpoints),
        every=timedelta(seconds=settings.checkpoint_seconds),
        events=settings.checkpoint_events,
        targets=() if settings.checkpoint_exports is None else parse_targets(settings.checkpoint_exports.reveal()),
    )
