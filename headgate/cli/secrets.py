"""``headgate secrets``: the files with keys, and the master keys that stored secrets are encrypted with."""

from typing import Final

import click

from headgate.cli.lazy_group import LazyGroup, Place

_ELSEWHERE: Final[dict[str, Place]] = {
    "create": ("headgate.cli.key_files:create", "Create the key files that all machines share."),
    "prepare": ("headgate.cli.master_keys:prepare", "Add a key that is not used yet."),
    "retire": ("headgate.cli.master_keys:retire", "Remove a key from the file."),
    "rotate": (
        "headgate.cli.master_keys:rotate",
        "Make a new key (or the prepared key) the current key and rewrap all secrets with it.",
    ),
    "status": (
        "headgate.cli.master_keys:status",
        "List the master keys, the number of secrets under each, and problems.",
    ),
    "unwrap": ("headgate.cli.wrapped_keys:unwrap", "Store the master keys in the clear again."),
    "wrap": ("headgate.cli.wrapped_keys:wrap", "Wrap the master keys with a key in AWS KMS, Vault or OpenBao."),
}


@click.group(cls=LazyGroup, elsewhere=_ELSEWHERE)
def secrets() -> None:
    """Create key files; show, prepare, rotate, retire and wrap the master keys of stored secrets."""
