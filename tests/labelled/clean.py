"""Texts in which no credential stands, though much looks like one: sources, locks, hashes, minified code."""

import base64
import importlib.util
import random
import re
import uuid
from collections.abc import Iterator
from pathlib import Path

_ROOT = Path(__file__).resolve().parents[2]
_PIECE = 4096
_PACKAGES = ("click", "httpx", "fastapi", "structlog", "psycopg", "jwt", "redis")
_HELD_OUT_PACKAGES = ("uvicorn", "yaml", "cryptography", "pydantic", "starlette")


def held_out_clean_texts() -> Iterator[tuple[str, str]]:
    """Sources that nothing was tuned on."""
    for package in _HELD_OUT_PACKAGES:
        yield from _package(package)


def clean_texts() -> Iterator[tuple[str, str]]:
    """(name, text); sources are cut into pieces of some kilobytes, each of which counts as a text."""
    yield from _sources("own", [*_ROOT.glob("headgate/**/*.py"), *_ROOT.glob("admin_api/**/*.py")])
    for package in _PACKAGES:
        yield from _package(package)
    yield from _sources("lock", [_ROOT / "requirements.lock", _ROOT / "regorus-py" / "Cargo.lock"])
    yield from _sources("data", [*_ROOT.glob("config/catalogues/*.yaml"), _ROOT / "docs" / "openapi.json"])
    rng = random.Random(11)  # noqa: S311 - repeatable, not secret
    for number in range(150):
        yield f"generated:{number}", _identifiers(rng)
    minified = [re.sub(r"\s+", " ", text).replace(" = ", "=").replace(", ", ",") for _, text in _own()]
    yield from ((f"minified:{number}", text) for number, text in enumerate(minified))


def _package(name: str) -> Iterator[tuple[str, str]]:
    spec = importlib.util.find_spec(name)
    assert spec is not None
    assert spec.origin is not None
    yield from _sources(name, sorted(Path(spec.origin).parent.rglob("*.py")))


def _own() -> Iterator[tuple[str, str]]:
    return _sources("own", [*_ROOT.glob("proxy/*.py"), *_ROOT.glob("addons/*.py")])


def _sources(name: str, files: list[Path]) -> Iterator[tuple[str, str]]:
    for file in files:
        text = file.read_text("utf-8")
        for at in range(0, len(text), _PIECE):
            yield f"{name}:{file.name}:{at}", text[at : at + _PIECE]


def _identifiers(rng: random.Random) -> str:
    def hexadecimal(length: int) -> str:
        return f"{rng.getrandbits(length * 4):0{length}x}"

    integrity = base64.b64encode(rng.randbytes(64)).decode()
    return (
        f'{{"id": "{uuid.UUID(int=rng.getrandbits(128), version=4)}", "sha": "{hexadecimal(40)}",'
        f' "digest": "sha256:{hexadecimal(64)}", "etag": "{hexadecimal(32)}", "integrity": "sha512-{integrity}",'
        f' "trace": "00-{hexadecimal(32)}-{hexadecimal(16)}-01", "key": "{hexadecimal(8)}", "cursor":'
        f' "{base64.b64encode(rng.randbytes(24)).decode()}", "session": "{uuid.UUID(int=rng.getrandbits(128))}"}}'
    )
