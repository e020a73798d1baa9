"""What the process that prepares an instance answers its supervisor (``headgate.runtime.prepare``), in JSON."""

import json
from typing import Any

from msgspec import Struct

from headgate.kernel.errors import UnavailableError
from headgate.kernel.secrets import Secret


class Prepared(Struct, frozen=True):
    """``ca_cert``: the path of the PEM file that agents trust. ``dashboard``: the address at which a browser finds the
    dashboard. ``first_sign_in``: a link for the first administrator, at the API's address. It works once, within an
    hour. None: somebody signed in before."""

    ca_cert: str
    dashboard: str
    admin_token: Secret
    first_sign_in: Secret | None

    def to_json(self) -> bytes:
        document = {
            "ca_cert": self.ca_cert,
            "dashboard": self.dashboard,
            "admin_token": self.admin_token.reveal(),
            "first_sign_in": None if self.first_sign_in is None else self.first_sign_in.reveal(),
        }
        return json.dumps(document).encode()


def failed(message: str) -> bytes:
    """The answer that tells the supervisor why the task failed."""
    return json.dumps({"failed": message}).encode()


def read_prepared(answer: bytes) -> Prepared:
    """Raises UnavailableError with the message of ``failed``."""
    document = _read(answer)
    link = document["first_sign_in"]
    return Prepared(
        ca_cert=document["ca_cert"],
        dashboard=document["dashboard"],
        admin_token=Secret(document["admin_token"]),
        first_sign_in=None if link is None else Secret(link),
    )


def token_to_json(token: Secret) -> bytes:
    return json.dumps({"admin_token": token.reveal()}).encode()


def read_token(answer: bytes) -> Secret:
    """Raises UnavailableError with the message of ``failed``."""
    return Secret(_read(answer)["admin_token"])


def _read(answer: bytes) -> dict[str, Any]:
    try:
        document: dict[str, Any] = json.loads(answer)
    except ValueError as error:
        raise UnavailableError("the task gave no readable answer: see its log on stderr") from error
    if "failed" in document:
        raise UnavailableError(document["failed"])
    return document
