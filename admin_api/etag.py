"""Versions as entity tags (RFC 9110, section 8.8.3), and the version that a change expects (section 13.1.1)."""

import re
from typing import Annotated, Final

from fastapi import Header
from starlette.responses import Response

from headgate.kernel.errors import PreconditionFailedError, ValidationError
from headgate.policies.versions import ExpectedVersion

_STRONG: Final = re.compile(r'"([1-9][0-9]{0,9})"')
_HEADER_MAX_CHARACTERS: Final = 200

type IfMatch = Annotated[str | None, Header(max_length=_HEADER_MAX_CHARACTERS)]


def set_etag(response: Response, version: int) -> None:
    response.headers["ETag"] = f'"{version}"'


def expected_version(if_match: str | None, in_body: int | None) -> ExpectedVersion | None:
    """What the caller believes to be the newest version; None: it does not say, and takes what is there.

    If-Match compares strongly: a weak or unknown tag matches nothing. Raises PreconditionFailedError, and
    ValidationError where header and body differ.
    """
    if if_match is None or if_match.strip() == "*":
        return None if in_body is None else ExpectedVersion(in_body)
    match = _STRONG.fullmatch(if_match.strip())
    if match is None:
        raise PreconditionFailedError(
            'If-Match must be one strong entity tag, as in the ETag header of a response, such as "3"',
            details={"field": "If-Match", "reason": "not an entity tag of this resource"},
        )
    version = int(match[1])
    if in_body not in (None, version):
        raise ValidationError(
            "version and If-Match name different versions", details={"field": "version", "reason": "not If-Match's"}
        )
    return ExpectedVersion(version, by_header=True)
