"""Verifies a backup, and opens the key of an encrypted one. Needs no instance."""

from pathlib import Path

from headgate.backup.archive import Progress, opened_archive
from headgate.backup.encryption import PassphraseKey, key_of
from headgate.backup.manifest import Manifest
from headgate.kernel.errors import ValidationError
from headgate.kernel.secrets import Secret


def verify_backup(path: Path, passphrase: Secret | None, progress: Progress) -> Manifest:
    """Compares every part with its digest; with the passphrase, decrypts it too. Raises ValidationError."""
    with opened_archive(path) as archive:
        manifest = archive.manifest
        key = None
        if passphrase is not None:
            key = open_key(manifest, passphrase, path)
        archive.verify(progress)
        if key is not None:
            for part in manifest.parts:
                for _ in archive.read(part.name, key):
                    pass
    return manifest


def open_key(manifest: Manifest, passphrase: Secret, path: Path) -> PassphraseKey:
    """The key of an encrypted backup. Raises ValidationError."""
    if manifest.encryption is None:
        raise ValidationError(f"{path} is not encrypted: leave the passphrase out")
    try:
        key = key_of(passphrase, manifest.encryption)
        key.require_sealed(manifest)
    except ValueError as error:
        raise ValidationError(f"{path}: its manifest is malformed ({error})") from error
    except ValidationError as error:
        raise ValidationError(f"{path}: {error.message}") from error
    return key
