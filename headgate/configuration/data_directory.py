"""What lies where in the one directory that an instance keeps its data in.

Everything that a process writes for longer than its own life is here; the sockets of the embedded servers are
here too where the path is short enough (``headgate.runtime.folders``).
"""

import os
from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct


def default_data_directory(environment: Mapping[str, str] = os.environ) -> Path:
    """The XDG base directory specification's place for a user's data."""
    home = environment.get("XDG_DATA_HOME")
    base = Path(home) if home and Path(home).is_absolute() else Path("~/.local/share").expanduser()
    return base / "headgate"


class DataDirectory(Struct, frozen=True):
    """The layout below ``root``. Private folders are made 0700 by whoever uses them first."""

    root: Path

    @property
    def is_used(self) -> bool:
        """Whether an instance, or a part that runs by itself, keeps its keys here."""
        return any(path.exists() for path in (self.version_file, self.issuer, self.authority))

    @property
    def version_file(self) -> Path:
        """Says which version of this layout the directory has."""
        return self.root / "version.json"

    @property
    def mark_file(self) -> Path:
        """What the user's state knows this directory by (0600; ``headgate.runtime.own_data``)."""
        return self.root / "mark"

    @property
    def lock_file(self) -> Path:
        """Held by the supervisor as long as it runs: one instance a directory."""
        return self.root / "instance.lock"

    @property
    def postgres(self) -> Path:
        return self.root / "postgres"

    @property
    def valkey(self) -> Path:
        return self.root / "valkey"

    @property
    def secrets_file(self) -> Path:
        """Passwords of the database's roles and the seeded agent's key (0600)."""
        return self.root / "secrets.json"

    @property
    def authority(self) -> Path:
        """The proxy's certificate authority with its key (0700)."""
        return self.root / "ca"

    @property
    def public(self) -> Path:
        """What clients may read: certificates, bundles, trust stores."""
        return self.root / "public"

    @property
    def metrics(self) -> Path:
        """What each process counts; /health/metrics adds it up."""
        return self.root / "metrics"

    @property
    def evaluating(self) -> Path:
        """Which policy each deciding process is in the middle of; read by the next one when it died."""
        return self.root / "evaluating"

    @property
    def issuer(self) -> Path:
        """The key that signs local tokens (0700)."""
        return self.root / "issuer"

    @property
    def master_keys(self) -> Path:
        """What the secrets of organizations are encrypted with (0600; ``headgate.vault.master_keys``)."""
        return self.root / "vault" / "master-keys.json"

    @property
    def captures(self) -> Path:
        """Intercepted traffic on its way to the database, encrypted (0700; ``headgate.traffic.spool_writer``)."""
        return self.root / "captures"

    @property
    def catalogues(self) -> Path:
        """The operator's own tool catalogues (``headgate tools import`` writes here)."""
        return self.root / "catalogues"

    @property
    def signing_keys(self) -> Path:
        """What checkpoints of the record are signed with (0600; ``headgate.evidence.signing_keys``)."""
        return self.root / "evidence" / "signing-keys"

    @property
    def signed_checkpoints(self) -> Path:
        """The last checkpoint of each organization that was signed here (0700)."""
        return self.root / "evidence" / "signed"

    @property
    def restoring(self) -> Path:
        """What a restore builds before it moves it here; gone when the restore is complete."""
        return self.root / "restoring"

    @property
    def upgrading(self) -> Path:
        """What an upgrade of the embedded database builds before it moves it here; gone when it is complete."""
        return self.root / "upgrading"

    @property
    def runtime_file(self) -> Path:
        """Where client commands find the instance (``headgate.runtime.runtime_file``)."""
        return self.root / "runtime.json"

    @property
    def logs(self) -> Path:
        """Logs of the embedded servers."""
        return self.root / "logs"
