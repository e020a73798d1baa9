"""``headgate witness``: co-sign the checkpoints of other people's logs."""

import time
from pathlib import Path

import click

from headgate.kernel.loading import loading


@click.command()
@click.option(
    "--data-dir",
    required=True,
    type=click.Path(path_type=Path, file_okay=False),
    help="Folder for the key and the state.",
)
@click.option(
    "--name", default="headgate-witness", show_default=True, help="The name of the key. It identifies the witness."
)
@click.option("--log", "logs", multiple=True, required=True, help="A verifier key of a log (headgate audit key show).")
@click.option("--host", default="127.0.0.1", show_default=True)
@click.option("--port", default=8475, show_default=True, type=click.IntRange(0, 65535))
def witness(data_dir: Path, name: str, logs: tuple[str, ...], host: str, port: int) -> None:
    """Run a witness (C2SP tlog-witness) until SIGTERM: for another team, on its own machine.

    It cosigns a checkpoint only if it extends the last checkpoint that it saw. Put it behind TLS. The service exports
    to witness+https://HOST/?key=KEY, with the KEY that this command prints.
    """
    with loading():
        import uvicorn  # noqa: PLC0415 - loaded by this command only
        from starlette.applications import Starlette  # noqa: PLC0415
        from starlette.requests import Request  # noqa: PLC0415
        from starlette.responses import Response  # noqa: PLC0415
        from starlette.routing import Route  # noqa: PLC0415

        from headgate.evidence.note import parse_verifier_key  # noqa: PLC0415
        from headgate.evidence.signing_keys import SigningKeySource  # noqa: PLC0415
        from headgate.evidence.witness import MAX_REQUEST_BYTES, Witness  # noqa: PLC0415

    source = SigningKeySource(data_dir / "witness-key")
    keys = source.create(name) if source.is_missing else source.load()
    made = Witness(
        keys.log_name, keys.signers[0], [parse_verifier_key(one) for one in logs], data_dir, lambda: int(time.time())
    )

    async def add_checkpoint(request: Request) -> Response:
        body = b""
        async for piece in request.stream():
            body += piece
            if len(body) > MAX_REQUEST_BYTES:
                return Response("too large\n", 413)
        answer = await made.add_checkpoint(body)
        return Response(answer.body, answer.status, media_type=answer.content_type)

    click.echo(made.key.text)
    app = Starlette(routes=[Route("/add-checkpoint", add_checkpoint, methods=["POST"])])
    uvicorn.run(app, host=host, port=port, log_level="warning", access_log=False)
