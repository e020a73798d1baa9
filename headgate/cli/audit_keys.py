"""``headgate audit key``: the keys that sign checkpoints of the record."""

from pathlib import Path

import click

from headgate.cli.api_client import ApiClient
from headgate.cli.tables import safe, show_json
from headgate.cli.target import find_target, json_option, runtime_file_option
from headgate.evidence.signing_keys import SigningKeys, SigningKeySource
from headgate.kernel.errors import UnavailableError


@click.group(invoke_without_command=True)
@click.pass_context
def key(context: click.Context) -> None:
    """The keys that sign checkpoints of the record: show (the default), rotate, retire."""
    if context.invoked_subcommand is None:
        context.invoke(key_show, as_json=False, runtime_file=None)


@key.command("show")
@json_option
@runtime_file_option
def key_show(as_json: bool, runtime_file: Path | None) -> None:
    """Print the verifier keys of an instance: hand them to those who check proof packs."""
    answer = ApiClient(find_target(runtime_file)).get("/.well-known/headgate-keys")
    if as_json:
        show_json(answer)
        return
    for one in answer["keys"]:
        click.echo(f"{safe(one['vkey'])}  {safe(one['status'])}")


@key.command("rotate")
@click.option("--signer", metavar="SIGNER+…", help="The new key is in a device: SIGNER+name+id+material+https://…")
def key_rotate(signer: str | None) -> None:
    """Make a new key on this machine; the old one goes on signing beside it until it is retired.

    Settings: HEADGATE_SIGNING_KEYS_FILE, HEADGATE_DATA_DIR. No restart is needed.
    """
    _show_keys(_source().rotate(signer))


@key.command("retire")
@click.argument("key_id")
def key_retire(key_id: str) -> None:
    """Stop signing with KEY_ID and forget its private part; what it signed stays verifiable."""
    _show_keys(_source().retire(key_id))


def _source() -> SigningKeySource:
    # Loaded by the two commands that need them: with the database's driver they take as long as all the rest.
    from headgate.cli.evidence_settings import signing_key_source  # noqa: PLC0415
    from headgate.configuration.settings import read_settings  # noqa: PLC0415

    source = signing_key_source(read_settings())
    if source.is_missing:
        raise UnavailableError(
            f"there are no signing keys at {source.file}: say where the workers have theirs, with"
            " HEADGATE_SIGNING_KEYS_FILE or HEADGATE_DATA_DIR (after make up: HEADGATE_DATA_DIR=.headgate)"
        )
    return source


def _show_keys(keys: SigningKeys) -> None:
    for one in keys.verifier_keys(keys.log_name):
        click.echo(one.text)
