"""Answers about the bytes of a held call's body that its params do not show."""

from typing import Any

from pydantic import Field

from admin_api.schema import BaseModel
from headgate.actions.unparsed_body import UnparsedBody


class UnparsedBodyAnswer(BaseModel):
    size: int = Field(description="Of the bytes as they are kept.")
    sha256: str = Field(description="Of the bytes as they are kept, as sha256:<hex>.")
    content_type: str | None
    masked_places: int = Field(description="How many secrets are masked in them.")
    decoded_from: str | None = Field(description="The content coding that Headgate removed.")
    is_exact: bool = Field(
        description="These are the bytes that are sent: nothing is masked, no coding is removed, and sha256 is"
        " http.body_sha256."
    )


class BodyPartAnswer(UnparsedBodyAnswer):
    """A part of the bytes."""

    offset: int
    content: str = Field(description="The bytes from offset on, in base64 (RFC 4648, 4).")


def unparsed_body_answer(body: UnparsedBody | None) -> UnparsedBodyAnswer | None:
    return None if body is None else UnparsedBodyAnswer(**members_of(body))


def members_of(body: UnparsedBody) -> dict[str, Any]:
    return {
        "size": body.size,
        "sha256": body.sha256,
        "content_type": body.content_type,
        "masked_places": body.masked_places,
        "decoded_from": body.decoded_from,
        "is_exact": body.is_exact,
    }
