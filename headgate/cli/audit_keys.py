"""``headgate audit key``: the keys that sign checkpoints of the record."""

import click

from headgate.cli.api_client import ApiClient
from headgate.cli.client_option import client_option
from headgate.cli.tables import safe, show_json
from headgate.cli.target import json_option, result_option
from headgate.client import operations
from headgate.evidence.signing_keys import SigningKeys, SigningKeySource
from headgate.kernel.errors import UnavailableError


@click.group(invoke_without_command=True)
@click.pass_context
def key(context: click.Context) -> None:
    """The keys that sign checkpoints of the record: show (the default), rotate, retire."""
    if context.invoked_subcommand is None:
        context.invoke(key_show, organization=None, as_json=False, runtime_file=None)


@key.command("show")
@click.option("--organization", help="Whose log; default: your own.")
@json_option
@client_option
def key_show(client: ApiClient, organization: str | None, as_json: bool) -> None:
    """Print the verifier keys of a log: hand them to those who check its checkpoints and proof packs.

    Each organization has a log of its own, whose keys bear its name (C2SP signed-note).
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
@click.option("--signer", metavar="SIGNER+…", help="The new key is in a device: SIGNER+name+id+material+https://…")
@result_option
def key_rotate(signer: str | None, as_json: bool) -> None:
    """Create a new key on this machine. The old key continues to sign too, until you retire it.

    Settings: HEADGATE_SIGNING_KEYS_FILE, HEADGATE_DATA_DIR. No restart is needed.
    """
    _show_keys(_source().rotate(signer), as_json=as_json)


@key.command("retire")
@click.argument("verifier_key")
@result_option
def key_retire(verifier_key: str, as_json: bool) -> None:
    """Stop signing with a key and forget its private part; what it signed stays verifiable.

    VERIFIER_KEY is what headgate audit key show prints of it, or its identifier as rotate prints it.
    """
    _show_keys(_source().retire(verifier_key), as_json=as_json)


def _source() -> SigningKeySource:
    # Loaded by the two commands that need them: with the database's driver they take as long as all the rest.
    from headgate.cli.evidence_settings import signing_key_source  # noqa: PLC0415
    from headgate.configuration.settings import read_settings  # noqa: PLC0415

    source = signing_key_source(read_settings())
    if source.is_missing:
        raise UnavailableError(
            f"No signing keys at {source.file}. Name those of the workers: set"
            " HEADGATE_SIGNING_KEYS_FILE or HEADGATE_DATA_DIR (after make up: HEADGATE_DATA_DIR=.headgate)"
        )
    return source


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
