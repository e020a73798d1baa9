"""Lists that go on: by offset, by cursor, or, in the camelCase variant of a shape, by page and pageSize.

The routes' own shape is ``total, limit, offset``; ``?shape=camel`` selects the schemas' variant ``total, page,
pageSize, totalPages`` (specification, "Pagination"; semantics.md, "What the contract leaves open").
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Final, Literal

from fastapi import Query
from pydantic import BaseModel, ConfigDict, Field

from admin_api.pagination import MAX_LIMIT, Pagination
from headgate.kernel.errors import ValidationError

_MAX_OFFSET: Final = 2**31 - 1
_MAX_PAGE: Final = _MAX_OFFSET // MAX_LIMIT
_CURSOR_CHARACTERS: Final = 64

type Shape = Literal["camel"] | None


@dataclass(frozen=True, slots=True)
class ListRequest:
    """Which part of a list is wanted, and in which shape."""

    limit: int
    offset: int
    exact_total: bool
    cursor: str | None
    camel: bool


class CursorPagination(Pagination):
    """``next_cursor`` continues after this page, whatever has been added since; null: this is the last one."""

    next_cursor: str | None = None


class CamelPagination(BaseModel):
    model_config = ConfigDict(frozen=True)

    total: int
    page: int
    page_size: int = Field(serialization_alias="pageSize")
    total_pages: int = Field(serialization_alias="totalPages")


class CursorPage[Item](BaseModel):
    """One page, by offset or cursor."""

    model_config = ConfigDict(frozen=True)

    data: list[Item]
    pagination: CursorPagination


class CamelPage[Item](BaseModel):
    """One page, by number."""

    model_config = ConfigDict(frozen=True)

    data: list[Item]
    pagination: CamelPagination


def list_request(default_limit: int) -> Callable[..., ListRequest]:
    """The dependency of a route whose pages are ``default_limit`` long unless the caller says otherwise."""

    def read(
        limit: Annotated[int, Query(ge=1, le=MAX_LIMIT)] = default_limit,
        offset: Annotated[int, Query(ge=0, le=_MAX_OFFSET)] = 0,
        total: Annotated[Literal["exact"] | None, Query()] = None,
        cursor: Annotated[str | None, Query(max_length=_CURSOR_CHARACTERS)] = None,
        shape: Annotated[Shape, Query()] = None,
        page: Annotated[int | None, Query(ge=1, le=_MAX_PAGE)] = None,
        page_size: Annotated[int | None, Query(alias="pageSize", ge=1, le=MAX_LIMIT)] = None,
    ) -> ListRequest:
        if page is not None or page_size is not None:
            limit = page_size or default_limit
            offset = ((page or 1) - 1) * limit
        if cursor is not None and offset:
            raise ValidationError(
                "a cursor says where to go on: leave offset and page out", details={"field": "cursor"}
            )
        return ListRequest(limit, offset, total == "exact", cursor, shape == "camel")

    return read


def cursor_pagination(
    request: ListRequest, total: int, *, is_minimum: bool, next_cursor: str | None
) -> CursorPagination:
    """``total_is_minimum`` is left out where the total is exact (``response_model_exclude_unset``)."""
    if is_minimum:
        return CursorPagination(
            total=total, limit=request.limit, offset=request.offset, total_is_minimum=True, next_cursor=next_cursor
        )
    return CursorPagination(total=total, limit=request.limit, offset=request.offset, next_cursor=next_cursor)


def camel_pagination(request: ListRequest, total: int) -> CamelPagination:
    return CamelPagination(
        total=total,
        page=request.offset // request.limit + 1,
        page_size=request.limit,
        total_pages=-(-total // request.limit),
    )
