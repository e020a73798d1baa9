"""``headgate audit key``: the keys that sign checkpoints of the record."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from headgate.cli.api_client import ApiClient
from headgate.cli.client_option import client_option
from headgate.cli.tables import safe, show_json
from headgate.cli.target import json_option, result_option
from headgate.client import operations
from headgate.kernel.errors import UnavailableError

if TYPE_CHECKING:
    from headgate.evidence.signing_keys import SigningKeys, SigningKeySource


@click.group(invoke_without_command=True)
@click.pass_context
def key(context: click.Context) -> None:
    """The keys that sign the checkpoints of the audit log: show (the default), rotate, retire."""
    if context.invoked_subcommand is None:
        context.invoke(key_show, organization=None, as_json=False, runtime_file=None)


@key.command("show")
@click.option("--organization", help="The organization of the log. Default: your own.")
@json_option
@client_option
def key_show(client: ApiClient, organization: str | None, as_json: bool) -> None:
    """Print the verifier keys of a log, for people who verify its checkpoints and proof packs.

    Each organization has its own log. The names of its keys contain the name of the log (C2SP signed-note).
    """
    if organization is None:
        answer = client.send(operations.get_audit_keys)
    else:
        answer = client.send(operations.get_well_known_headgate_keys, organization=organization)
    if as_json:
        show_json(answer)
        return
    for one in answer["keys"]:
        click.echo(f"{safe(one['vkey'])}  {safe(one['status'])}")


@key.command("rotate")
@click.option(
    "--signer",
    metavar="ADDRESS",
    help="The new key is in a key management service (awskms:///ARN, awskms:///alias/NAME or hashivault://KEY) or in a"
    " device behind HTTP (SIGNER+name+id+material+https://…).",
)
@result_option
def key_rotate(signer: str | None, as_json: bool) -> None:
    """Create a new key on this machine. The old key also continues to sign until you retire it.

    Settings: HEADGATE_SIGNING_KEYS_FILE, HEADGATE_DATA_DIR. No restart is needed.
    """
    source = _source()
    _show_keys(source.rotate(None if signer is None else _signer_line(source, signer)), as_json=as_json)


@key.command("retire")
@click.argument("verifier_key")
@result_option
def key_retire(verifier_key: str, as_json: bool) -> None:
    """Stop signing with a key and delete its private part. Its signatures stay verifiable.

    VERIFIER_KEY is the key as printed by headgate audit key show, or its id as printed by rotate.
    """
    _show_keys(_source().retire(verifier_key), as_json=as_json)


def _source() -> SigningKeySource:
    # Loaded by the two commands that need them: with the database's driver they take as long as all the rest.
    from headgate.cli.evidence_settings import signing_key_source  # noqa: PLC0415
    from headgate.configuration.settings import read_settings  # noqa: PLC0415

    source = signing_key_source(read_settings())
    if source.is_missing:
        raise UnavailableError(
            f"No signing keys at {source.file}. To use the workers' keys, set"
            " HEADGATE_SIGNING_KEYS_FILE or HEADGATE_DATA_DIR (after make up: HEADGATE_DATA_DIR=.headgate)"
        )
    return source


def _signer_line(source: SigningKeySource, signer: str) -> str:
    """Returns ``signer`` if it is a line already; otherwise the line for the key at that address, which signs once.
    Raises UnavailableError and ValidationError."""
    import asyncio  # noqa: PLC0415 - as above

    from headgate.evidence.signer_lines import PREFIX, signer_line  # noqa: PLC0415
    from headgate.kms.key_address import parse_key_address  # noqa: PLC0415

    if signer.startswith(PREFIX) or source.services is None:
        return signer
    return asyncio.run(signer_line(source.load().log_name, parse_key_address(signer), source.services))


def _show_keys(keys: SigningKeys, *, as_json: bool) -> None:
    """By their identifiers in the file, which knows of no organization, and so of no log."""
    retired_from = len(keys.signers)
    shown = [
        (one.key_id.hex(), "current" if at == 0 else "signing" if at < retired_from else "retired")
        for at, one in enumerate(keys.verifier_keys(keys.log_name))
    ]
    if as_json:
        show_json({"keys": [{"id": key_id, "status": status} for key_id, status in shown]})
        return
    for key_id, status in shown:
        click.echo(f"{key_id}  {status}")
    click.echo("headgate audit key show prints the verifier keys of a log.", err=True)
