"""Lists: ``{"data": […], "pagination": {"total", "limit", "offset"}}`` (specification, "Pagination").

``total`` is exact up to 10,000; beyond, it is that number with ``total_is_minimum: true``, unless the caller
asks with ``?total=exact`` (semantics.md, "Tenancy and roles"). Lists that grow while they are read go on by cursor as
well; ``?shape=camel`` selects the schemas' variant ``total, page, pageSize, totalPages`` (semantics.md, "What the
contract leaves open").
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Final, Literal, Protocol

from fastapi import Depends, Query
from pydantic import BaseModel, ConfigDict, Field

from headgate.kernel.errors import ValidationError
from headgate.kernel.ids import IdPrefix, parse_id

MAX_LIMIT: Final = 200
DEFAULT_LIMIT: Final = 50
MAX_OFFSET: Final = 2**31 - 1
MAX_PAGE: Final = MAX_OFFSET // MAX_LIMIT
CURSOR_CHARACTERS: Final = 64

type Shape = Literal["camel"] | None


@dataclass(frozen=True, slots=True)
class PageRequest:
    """Which part of a list is wanted."""

    limit: int
    offset: int
    exact_total: bool


def page_request(
    limit: Annotated[int, Query(ge=1, le=MAX_LIMIT)] = DEFAULT_LIMIT,
    offset: Annotated[int, Query(ge=0, le=MAX_OFFSET)] = 0,
    total: Annotated[Literal["exact"] | None, Query()] = None,
) -> PageRequest:
    return PageRequest(limit, offset, total == "exact")


type CurrentPage = Annotated[PageRequest, Depends(page_request)]


@dataclass(frozen=True, slots=True)
class ListRequest:
    """Which part of a list is wanted, and in which shape."""

    limit: int
    offset: int
    exact_total: bool
    cursor: str | None
    camel: bool

    def cursor_id(self, prefix: IdPrefix) -> str | None:
        """Where the pages of a list go on by identifier. Raises ValidationError."""
        return None if self.cursor is None else parse_id(prefix, self.cursor)


class Pagination(BaseModel):
    model_config = ConfigDict(frozen=True)

    total: int
    limit: int
    offset: int
    total_is_minimum: bool | None = Field(default=None, description="Present and true where there are more.")


class CursorPagination(Pagination):
    """``next_cursor`` continues after this page, whatever has been added since; null: this is the last one."""

    next_cursor: str | None = None


class UncountedPagination(BaseModel):
    """Of lists whose total nobody needs, and which would be counted each time."""

    model_config = ConfigDict(frozen=True)

    limit: int
    next_cursor: str | None = Field(description="Null: there is nothing behind these.")


class CamelPagination(BaseModel):
    model_config = ConfigDict(frozen=True)

    total: int
    page: int
    page_size: int = Field(serialization_alias="pageSize")
    total_pages: int = Field(serialization_alias="totalPages")


class OpenCamelPagination(CamelPagination):
    """Both are left out where ``total`` is exact: then the pages say where the list ends."""

    total_is_minimum: bool | None = Field(default=None, serialization_alias="totalIsMinimum")
    next_cursor: str | None = Field(default=None, serialization_alias="nextCursor")


class Page[Item, Numbers: Pagination | CamelPagination](BaseModel):
    """One page of a list. Routes declare ``response_model_exclude_unset``, which leaves out ``total_is_minimum``."""

    model_config = ConfigDict(frozen=True)

    data: list[Item]
    pagination: Numbers


def pagination_of(page: PageRequest, total: int, *, is_minimum: bool) -> Pagination:
    if is_minimum:
        return Pagination(total=total, limit=page.limit, offset=page.offset, total_is_minimum=True)
    # Unset, and so left out of the answer (``response_model_exclude_unset``).
    return Pagination(total=total, limit=page.limit, offset=page.offset)


def list_request(default_limit: int) -> Callable[..., ListRequest]:
    """The dependency of a route whose pages are ``default_limit`` long unless the caller says otherwise."""

    def read(
        limit: Annotated[int, Query(ge=1, le=MAX_LIMIT)] = default_limit,
        offset: Annotated[int, Query(ge=0, le=MAX_OFFSET)] = 0,
        total: Annotated[Literal["exact"] | None, Query()] = None,
        cursor: Annotated[str | None, Query(max_length=CURSOR_CHARACTERS)] = None,
        shape: Annotated[Shape, Query()] = None,
        page: Annotated[int | None, Query(ge=1, le=MAX_PAGE)] = None,
        page_size: Annotated[int | None, Query(alias="pageSize", ge=1, le=MAX_LIMIT)] = None,
    ) -> ListRequest:
        if page is not None or page_size is not None:
            limit = page_size or default_limit
            offset = ((page or 1) - 1) * limit
        return list_part(limit, offset, cursor, exact_total=total == "exact", camel=shape == "camel")

    return read


def list_part(limit: int, offset: int, cursor: str | None, *, exact_total: bool, camel: bool) -> ListRequest:
    """Raises ValidationError."""
    if cursor is not None and offset:
        raise ValidationError("a cursor says where to go on: leave offset and page out", details={"field": "cursor"})
    return ListRequest(limit, offset, exact_total, cursor, camel)


class Found(Protocol):
    """What a store found of a list that goes on by cursor."""

    @property
    def total(self) -> int: ...
    @property
    def total_is_minimum(self) -> bool: ...
    @property
    def next_cursor(self) -> str | None: ...


def cursor_page[Item](
    request: ListRequest, data: list[Item], found: Found
) -> Page[Item, CursorPagination] | Page[Item, CamelPagination]:
    """The answer of a list whose items are the same in both shapes."""
    if request.camel:
        return Page(data=data, pagination=camel_pagination(request, found.total))
    return Page(data=data, pagination=cursor_pagination(request, found))


def cursor_pagination(request: ListRequest, found: Found) -> CursorPagination:
    """``total_is_minimum`` is left out where the total is exact (``response_model_exclude_unset``)."""
    if found.total_is_minimum:
        return CursorPagination(
            total=found.total,
            limit=request.limit,
            offset=request.offset,
            total_is_minimum=True,
            next_cursor=found.next_cursor,
        )
    return CursorPagination(
        total=found.total, limit=request.limit, offset=request.offset, next_cursor=found.next_cursor
    )


def camel_pagination(request: ListRequest, total: int) -> CamelPagination:
    return CamelPagination(
        total=total,
        page=request.offset // request.limit + 1,
        page_size=request.limit,
        total_pages=-(-total // request.limit),
    )


def open_camel_pagination(request: ListRequest, found: Found) -> OpenCamelPagination:
    """Of a list that may be longer than its total says: a search that has not come to the end yet, for one."""
    numbers = camel_pagination(request, found.total)
    if not found.total_is_minimum:
        return OpenCamelPagination(**numbers.model_dump())
    return OpenCamelPagination(**numbers.model_dump(), total_is_minimum=True, next_cursor=found.next_cursor)
