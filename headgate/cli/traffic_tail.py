"""Following what is captured, page by page: nothing that came at once is left out, and nothing is asked in vain.

A filter expression asks what is in bodies, and each such look is recorded: only what has newly come is asked about.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

from headgate.cli.api_client import ApiClient
from headgate.client import operations

if TYPE_CHECKING:
    from headgate.client.types import ExchangeAnswer, TrafficPageAnswer

_PAGE: Final = 200


class Follower:
    """``filters``: as the list takes them."""

    def __init__(self, client: ApiClient, filters: Mapping[str, Any]) -> None:
        self._client = client
        self._columns = {name: value for name, value in filters.items() if name != "filter"}
        self._expression = filters.get("filter")
        page = self._page({})
        self._seen = {one["id"] for one in page["data"]}
        if self._expression is not None:
            self._page({"filter": self._expression, "limit": 1})  # one that is none is refused at once

    def look(self) -> tuple[list[ExchangeAnswer], TrafficPageAnswer]:
        """What has come since the last look, oldest first, and the newest page."""
        newest = page = self._page({})
        new: list[ExchangeAnswer] = []
        ids: set[str] = set()
        while True:
            of_page = {one["id"] for one in page["data"]}
            new += [one for one in page["data"] if one["id"] not in self._seen]
            ids |= of_page
            cursor = page["pagination"]["next_cursor"]
            # With nothing known before, all that there is has come at once. Pages beside known ones may hold late ones.
            if cursor is None or of_page & self._seen:
                break
            page = self._page({"cursor": cursor})
        # What is older than these pages is not shown again either.
        self._seen = ids
        return list(self._fitting(new)) if new else [], newest

    def _fitting(self, new: list[ExchangeAnswer]) -> Iterator[ExchangeAnswer]:
        """``new`` is newest first."""
        if self._expression is None:
            yield from reversed(new)
            return
        since = min(str(one["created_at"]) for one in new)
        fitting: set[str] = set()
        cursor: str | None = None
        while True:
            page = self._page({"filter": self._expression, "start_date": since, "cursor": cursor})
            fitting |= {one["id"] for one in page["data"]}
            cursor = page["pagination"]["next_cursor"]
            if cursor is None:
                break
        yield from (one for one in reversed(new) if one["id"] in fitting)

    def _page(self, more: Mapping[str, Any]) -> TrafficPageAnswer:
        return self._client.send(operations.list_exchanges, **{"limit": _PAGE, **self._columns, **more})
