"""``headgate verify``: a proof pack, without server, database or network."""

import sys
from functools import partial
from pathlib import Path

import click

from headgate.evidence.pack_verifier import InvalidError, run
from headgate.kernel.clock import rfc3339
from headgate.kernel.errors import ValidationError


@click.command()
@click.argument("pack", type=click.Path(path_type=Path, dir_okay=False))
@click.option(
    "--key",
    "keys",
    multiple=True,
    required=True,
    help="A verifier key (headgate audit key) of the service or of a witness, or a file of them; repeatable.",
)
@click.option(
    "--tsa-roots",
    type=click.Path(exists=True, path_type=Path, dir_okay=False),
    help="Certificates (PEM) of trusted timestamp authorities, to verify timestamps.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def verify(pack: Path, keys: tuple[str, ...], tsa_roots: Path | None, as_json: bool) -> None:
    """Verify a proof pack. Exit status 1 if it is invalid, 2 if the file is not a proof pack.

    Needs no instance, no database and no network.
    """
    check_stamp = None if tsa_roots is None else partial(_stamped_at, tsa_roots.read_bytes())
    sys.exit(run(str(pack), keys, as_json, check_stamp))


def _stamped_at(roots: bytes, stamp: bytes, body: str) -> str:
    from headgate.evidence.time_stamp import verified_time  # noqa: PLC0415 - where there is a stamp to be checked

    try:
        return rfc3339(verified_time(stamp, body, roots))
    except ValidationError as error:
        raise InvalidError(error.message) from error
