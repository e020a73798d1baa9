"""Unwraps master keys for a command, which may wait longer for the key management service than a part may."""

from headgate.configuration.settings import Settings
from headgate.kms.access import kms_access
from headgate.kms.key_services import KeyServices
from headgate.vault.unwrapper import COMMAND_WAIT_SECONDS, Unwrapper


def command_unwrapper(settings: Settings) -> Unwrapper:
    """Raises ValidationError."""
    return Unwrapper(KeyServices(kms_access(settings)), wait_seconds=COMMAND_WAIT_SECONDS)
