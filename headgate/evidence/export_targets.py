"""Where checkpoints are exported to, as HEADGATE_CHECKPOINT_EXPORTS names them: one address a target.

``file:///folder``; ``s3+https://KEY:SECRET@host/bucket/prefix?region=…&retain_days=…``; ``https://host/path``;
``tsa+https://host/path?roots=FILE.pem``; ``witness+https://host/prefix?key=VERIFIER-KEY``. ``every=SECONDS``: at most
that often.
"""

from pathlib import Path
from typing import Final
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

from msgspec import Struct

from headgate.evidence.note import KeyKind, VerifierKey, parse_verifier_key
from headgate.kernel.errors import ValidationError
from headgate.kernel.secrets import Secret

_DEFAULT_RETAIN_DAYS: Final = 3650
_TSA_EVERY_SECONDS: Final = 3600


class DirectoryTarget(Struct, frozen=True):
    folder: Path
    name: str
    every_seconds: int = 0


class BucketTarget(Struct, frozen=True):
    """``endpoint`` without a slash at the end; objects are locked for ``retain_days`` (compliance mode)."""

    endpoint: str
    bucket: str
    prefix: str
    region: str
    access_key: str
    secret_key: Secret
    retain_days: int
    name: str
    every_seconds: int = 0


class HttpTarget(Struct, frozen=True):
    url: str
    name: str
    every_seconds: int = 0


class TimestampTarget(Struct, frozen=True):
    """``roots``: certificates (PEM) that the authority must chain to; None: readers of its stamps look at that."""

    url: str
    name: str
    every_seconds: int = _TSA_EVERY_SECONDS
    roots: bytes | None = None


class WitnessTarget(Struct, frozen=True):
    """``prefix`` is the submission prefix of C2SP tlog-witness."""

    prefix: str
    key: VerifierKey
    name: str
    every_seconds: int = 0


type Target = DirectoryTarget | BucketTarget | HttpTarget | TimestampTarget | WitnessTarget


def parse_targets(text: str) -> tuple[Target, ...]:
    """Raises ValidationError, which shows no secret."""
    targets = tuple(_parse(one) for one in text.split())
    names = [one.name for one in targets]
    if len(set(names)) != len(names):
        raise ValidationError("two targets of the checkpoints' export are the same")
    return targets


def _parse(text: str) -> Target:
    parts = urlsplit(text)
    options = dict(parse_qsl(parts.query))
    kind, _, scheme = parts.scheme.rpartition("+")
    try:
        every = int(options.pop("every", _TSA_EVERY_SECONDS if kind == "tsa" else 0))
        if parts.scheme == "file":
            folder = Path(unquote(parts.path))
            return DirectoryTarget(folder, f"file:{folder}"[:200], every)
        if scheme not in ("http", "https") or not parts.hostname:
            raise ValidationError("an export's address begins with file:, http(s):, s3+, tsa+ or witness+http(s):")
        url = f"{scheme}://{_authority(parts)}{parts.path}".rstrip("/")
        shown = f"{kind or 'http'}:{_authority(parts)}{parts.path}".rstrip("/")[:200]
        match kind:
            case "":
                return HttpTarget(url, shown, every)
            case "tsa":
                return TimestampTarget(url, shown, every, _file(options.get("roots")))
            case "witness":
                key = parse_verifier_key(options["key"].replace(" ", "+"))
                if key.kind is not KeyKind.COSIGNATURE:
                    raise ValidationError("a witness's key is one for co-signatures")
                return WitnessTarget(url, key, shown, every)
            case "s3":
                return _bucket(parts, scheme, options, shown, every)
    except (KeyError, ValueError) as error:
        raise ValidationError(f"an export's address is malformed or lacks something: {error}") from error
    raise ValidationError(f"there is no export of the kind {kind}")


def _file(path: str | None) -> bytes | None:
    try:
        return None if path is None else Path(path).read_bytes()
    except OSError as error:
        raise ValidationError(f"{path}: {error.strerror}") from error


def _bucket(parts: SplitResult, scheme: str, options: dict[str, str], shown: str, every: int) -> BucketTarget:
    bucket, _, prefix = parts.path.strip("/").partition("/")
    if not bucket or parts.username is None or parts.password is None:
        raise ValidationError("a bucket's address is s3+https://KEY:SECRET@host/bucket/prefix")
    return BucketTarget(
        endpoint=f"{scheme}://{_authority(parts)}",
        bucket=bucket,
        prefix=prefix,
        region=options.get("region", "us-east-1"),
        access_key=unquote(parts.username),
        secret_key=Secret(unquote(parts.password)),
        retain_days=int(options.get("retain_days", _DEFAULT_RETAIN_DAYS)),
        name=shown,
        every_seconds=every,
    )


def _authority(parts: SplitResult) -> str:
    return f"{parts.hostname}:{parts.port}" if parts.port else str(parts.hostname)
