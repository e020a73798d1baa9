"""Requests to package indexes, at hosts that a catalogue names. The path says the package, and to publish the body."""

from collections.abc import Sequence
from urllib.parse import unquote

from headgate.protocols import package_cargo, package_go, package_maven, package_npm, package_pypi
from headgate.protocols.body import Body
from headgate.protocols.draft import ReadCall
from headgate.protocols.headers import Headers
from headgate.protocols.package import Ecosystem, PackageRequest, unreadable


def recognise(
    ecosystem: Ecosystem, read_call: ReadCall, headers: Headers, body: Body, *, roots: Sequence[str]
) -> PackageRequest | None:
    """``roots``: under which paths indexes of this ecosystem lie. None: it is no request that these protocols know.

    Raises AmbiguousRequestError: what is published cannot be read, or is not what the path says.
    """
    method = "GET" if read_call.call.method == "HEAD" else read_call.call.method
    segments = _segments(read_call.path, roots)
    if segments is None or (method == "GET" and read_call.call.body):
        return None
    match ecosystem:
        case Ecosystem.CARGO:
            is_coded = headers.content_encoding is not None
            return package_cargo.read(method, segments, read_call.call.body, is_coded=is_coded)
        case Ecosystem.GO:
            return package_go.read(method, segments)
        case Ecosystem.MAVEN:
            return package_maven.read(method, segments)
        case Ecosystem.NPM:
            return package_npm.read(method, segments, body)
        case Ecosystem.PYPI:
            return package_pypi.read(method, segments, body)


def _segments(path: str, roots: Sequence[str]) -> list[str] | None:
    """Decoded, behind the longest root; None: under none of them."""
    folders = [root.rstrip("/") for root in roots]
    fitting = [folder for folder in folders if f"{path}/".startswith(f"{folder}/")]
    if not fitting:
        return None
    rest = path.removeprefix(max(fitting, key=len)).strip("/")
    segments = [unquote(one) for one in rest.split("/")] if rest else []
    if any("%" in one for one in segments):
        raise unreadable("the path is encoded twice")
    return segments
