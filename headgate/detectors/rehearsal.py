"""One ordinary call, inspected before the first: patterns are compiled when they are first used, and those that every
call needs are then there already, once for all processes that are forked."""

from typing import Final

from headgate.detectors.assess import AssessedContent, EmbeddedModel, Query
from headgate.kernel.canonical_json import JsonValue

_CALL: Final[JsonValue] = {
    "http": {
        "method": "POST",
        "scheme": "https",
        "host": "api.example.com",
        "path": "/v1/tickets/4711/comments",
        "query": {"limit": "20", "sort": "-created"},
        "headers": {"accept": "application/json", "authorization": "Bearer 8fa7sd6f87asd6f87sd6f"},
    },
    "body": {
        "title": "Delivery to another address",
        "description": "The customer asked on Monday whether it can be delivered before Friday: call +49 30 901820.",
        "createdAt": "2026-11-28T10:15:00Z",
        "author": {"id": "usr_4711", "email": "anna@example.com"},
        "items": [{"sku": "A-1001", "quantity": 2, "url": "https://shop.example.com/items/1001"}],
    },
}
_KEYWORDS: Final = "example"


def rehearse() -> None:
    """Raises ValidationError for a list that cannot be used."""
    content = AssessedContent(_CALL)
    for model in EmbeddedModel:
        content.assess(Query(model, keywords=_KEYWORDS if model is EmbeddedModel.KEYWORDS else None))
