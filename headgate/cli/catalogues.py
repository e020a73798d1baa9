"""``headgate tools check`` and ``import``: catalogue files."""

from pathlib import Path
from typing import Final

import click

from headgate.cli.local_data import data_dir_option, find_catalogues
from headgate.cli.tables import show_json
from headgate.cli.target import result_option, runtime_file_option
from headgate.kernel.atomic_file import replace_file
from headgate.kernel.canonical_json import JsonValue, parse_strict
from headgate.kernel.errors import HeadgateError, ValidationError

_MODE: Final = 0o644
_RESTART: Final = "the proxy, the API and the worker read catalogues when they start"


@click.command()
@click.argument("files", nargs=-1, type=click.Path(exists=True, dir_okay=False, path_type=Path))
@result_option
@data_dir_option
@runtime_file_option
def check(files: tuple[Path, ...], as_json: bool, data_dir: Path | None, runtime_file: Path | None) -> None:
    """Check catalogue files together with the catalogues of this instance. Without FILES, check only the latter."""
    from headgate.tools.catalogue_files import catalogue_paths  # noqa: PLC0415 - help reads no catalogue
    from headgate.tools.load import load_catalogue  # noqa: PLC0415
    from headgate.tools.match import CatalogueIndex  # noqa: PLC0415

    names = {path.name for path in files}
    own = [path for path in catalogue_paths(find_catalogues(data_dir, runtime_file)) if path.name not in names]
    catalogues = [load_catalogue(path) for path in (*own, *files)]
    CatalogueIndex(catalogues)
    entries = sum(len(catalogue.entries) for catalogue in catalogues)
    if as_json:
        show_json({"catalogues": len(catalogues), "entries": entries})
        return
    click.echo(f"{len(catalogues)} catalogues with {entries} entries: no problems")


@click.command("import")
@click.argument("document", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--tool", required=True, help="The name of the tool.")
@click.option("--origin", help="Address of the API (https://host:port), if the document has none.")
@click.option(
    "--output", type=click.Path(dir_okay=False, path_type=Path), help="Output file. Default: standard output."
)
@click.option("--install", is_flag=True, help="Write to the data directory, so that this instance uses it.")
@result_option
@data_dir_option
@runtime_file_option
def import_document(
    document: Path,
    tool: str,
    origin: str | None,
    output: Path | None,
    install: bool,
    as_json: bool,
    data_dir: Path | None,
    runtime_file: Path | None,
) -> None:
    """Create a catalogue from an OpenAPI document (3.0 or 3.1, JSON or YAML). Review it before use: it contains
    conservative guesses where the document has no information."""
    import yaml  # noqa: PLC0415 - help reads no document

    from headgate.tools.load import load_catalogue, load_catalogues  # noqa: PLC0415
    from headgate.tools.openapi import import_openapi  # noqa: PLC0415

    if install and output is not None:
        raise click.UsageError("--install cannot be combined with --output")
    imported = import_openapi(_read(document), tool=tool, origin=origin)
    text = yaml.safe_dump(imported.catalogue, sort_keys=False, allow_unicode=True, width=120)
    catalogues = find_catalogues(data_dir, runtime_file)
    target = catalogues / f"{tool}.yaml" if install else output
    for one in imported.left_out:
        click.echo(f"left out: {one}", err=True)
    result: dict[str, object] = {"catalogue": imported.catalogue, "left_out": list(imported.left_out)}
    if target is None:
        if as_json:
            show_json({"file": None, **result})
        else:
            click.echo(text, nl=False)
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    before = target.read_bytes() if target.exists() else None
    replace_file(target, text.encode(), mode=_MODE)
    try:
        load_catalogue(target)
        if install:
            load_catalogues(catalogues)
    except HeadgateError:
        # A catalogue that cannot be read would keep every part from starting.
        if before is None:
            target.unlink()
        else:
            replace_file(target, before, mode=_MODE)
        raise
    if as_json:
        show_json({"file": str(target), **result})
        return
    entries = imported.catalogue["entries"]
    count = len(entries) if isinstance(entries, list) else 0
    click.echo(f"{target}: {count} operations" + (f"; {_RESTART}" if install else ""))


def _read(path: Path) -> JsonValue:
    if path.suffix in (".yaml", ".yml"):
        from headgate.configuration.yaml_document import read_document  # noqa: PLC0415 - help reads no document

        return read_document(path).members
    try:
        return parse_strict(path.read_bytes())
    except ValidationError as error:
        raise ValidationError(f"{path}: {error.message}") from error
