"""Lists: ``{"data": […], "pagination": {"total", "limit", "offset"}}`` (specification, "Pagination").

``total`` is exact up to 10,000; beyond, it is that number with ``total_is_minimum: true``, unless the caller
asks with ``?total=exact`` (semantics.md, "Tenancy and roles"). Lists that grow while they are read go on by cursor as
well; ``?shape=camel`` selects the schemas' variant ``total, page, pageSize, totalPages`` (semantics.md, "What the
contract leaves open").
"""

from collections.abc import Callable
from typing import Annotated, Final, Literal, Protocol

from fastapi import Depends, Query
from msgspec import Struct
from pydantic import ConfigDict, Field

from admin_api.identifiers import identifier
from admin_api.schema import BaseModel
from headgate.kernel.ids import IdPrefix

MAX_LIMIT: Final = 200
DEFAULT_LIMIT: Final = 50
MAX_OFFSET: Final = 2**31 - 1
MAX_PAGE: Final = MAX_OFFSET // MAX_LIMIT

type Shape = Literal["camel"] | None


type _Limit = Annotated[int | None, Query(ge=1, le=MAX_LIMIT, description="Maximum number of results. Default: 50.")]
type _Offset = Annotated[int, Query(ge=0, le=MAX_OFFSET)]
type _Total = Annotated[Literal["exact"] | None, Query()]
type _CurrentShape = Annotated[Shape, Query(description="camel: pagination as total, page, pageSize, totalPages.")]
type _PageNumber = Annotated[int | None, Query(ge=1, le=MAX_PAGE, description="Counted from 1.")]
type _PageSize = Annotated[int | None, Query(alias="pageSize", ge=1, le=MAX_LIMIT)]


class PageRequest(Struct, frozen=True):
    """Which part of a list is wanted, and in which shape."""

    limit: int
    offset: int = 0
    exact_total: bool = False
    camel: bool = False


def page_request(
    limit: _Limit = None,
    offset: _Offset = 0,
    total: _Total = None,
    shape: _CurrentShape = None,
    page: _PageNumber = None,
    page_size: _PageSize = None,
) -> PageRequest:
    size, start = part_of(limit, offset, page, page_size, DEFAULT_LIMIT)
    return PageRequest(size, start, total == "exact", shape == "camel")


type CurrentPage = Annotated[PageRequest, Depends(page_request)]


class ListRequest(PageRequest, frozen=True):
    """Of a list that goes on by cursor as well."""

    cursor: str | None = None


def part_of(
    limit: int | None, offset: int, page: int | None, page_size: int | None, default_limit: int
) -> tuple[int, int]:
    """How many, and from where. No parameter is ignored: ``limit`` bounds ``pageSize``, ``offset`` counts on from the
    beginning of ``page``."""
    size = min((one for one in (limit, page_size) if one is not None), default=default_limit)
    return size, min(((page or 1) - 1) * size + offset, MAX_OFFSET)


class Pagination(BaseModel):
    model_config = ConfigDict(frozen=True)

    total: int
    limit: int
    offset: int
    total_is_minimum: bool | None = Field(default=None, description="Present and true if there are more.")


class CursorPagination(Pagination):
    """``next_cursor`` continues after this page, whatever has been added since; null: this is the last one."""

    next_cursor: str | None = None


class UncountedPagination(BaseModel):
    """Of lists whose total nobody needs, and which would be counted each time."""

    model_config = ConfigDict(frozen=True)

    limit: int
    next_cursor: str | None = Field(description="Null: no further results.")


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


class CountedPage[Item](BaseModel):
    """One page of a list that has no cursor."""

    model_config = ConfigDict(frozen=True)

    data: list[Item]
    pagination: Pagination | CamelPagination


class Page[Item, Numbers: Pagination | CamelPagination](BaseModel):
    """One page of a list. Routes declare ``response_model_exclude_unset``, which leaves out ``total_is_minimum``."""

    model_config = ConfigDict(frozen=True)

    data: list[Item]
    pagination: Numbers


def counted_page[Item](page: PageRequest, data: list[Item], total: int, *, is_minimum: bool) -> CountedPage[Item]:
    """The answer of a list that has no cursor."""
    return CountedPage(data=data, pagination=pagination_of(page, total, is_minimum=is_minimum))


def pagination_of(page: PageRequest, total: int, *, is_minimum: bool) -> Pagination | CamelPagination:
    if page.camel:
        return camel_pagination(page, total)
    if is_minimum:
        return Pagination(total=total, limit=page.limit, offset=page.offset, total_is_minimum=True)
    # Unset, and so left out of the answer (``response_model_exclude_unset``).
    return Pagination(total=total, limit=page.limit, offset=page.offset)


def list_request(prefix: IdPrefix, default_limit: int = DEFAULT_LIMIT) -> Callable[..., ListRequest]:
    """The dependency of a list that goes on behind the identifier of its last item."""

    def read(
        limit: Annotated[
            int | None, Query(ge=1, le=MAX_LIMIT, description=f"Maximum number of results. Default: {default_limit}.")
        ] = None,
        offset: _Offset = 0,
        total: _Total = None,
        cursor: Annotated[
            str | None, identifier(prefix), Query(description="next_cursor of the previous page.")
        ] = None,
        shape: _CurrentShape = None,
        page: _PageNumber = None,
        page_size: _PageSize = None,
    ) -> ListRequest:
        size, start = part_of(limit, offset, page, page_size, default_limit)
        return ListRequest(size, start, total == "exact", shape == "camel", cursor)

    return read


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


def camel_pagination(request: PageRequest, total: int) -> CamelPagination:
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
