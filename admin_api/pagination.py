"""Lists: ``{"data": […], "pagination": {"total", "limit", "offset"}}`` (specification, "Pagination").

``total`` is exact up to 10,000; beyond, it is that number with ``total_is_minimum: true``, unless the caller
asks with ``?total=exact`` (semantics.md, "Tenancy and roles").
"""

from dataclasses import dataclass
from typing import Annotated, Final, Literal

from fastapi import Depends, Query
from pydantic import BaseModel, ConfigDict, Field

MAX_LIMIT: Final = 200
DEFAULT_LIMIT: Final = 50
_MAX_OFFSET: Final = 2**31 - 1


@dataclass(frozen=True, slots=True)
class PageRequest:
    """Which part of a list is wanted."""

    limit: int
    offset: int
    exact_total: bool


def page_request(
    limit: Annotated[int, Query(ge=1, le=MAX_LIMIT)] = DEFAULT_LIMIT,
    offset: Annotated[int, Query(ge=0, le=_MAX_OFFSET)] = 0,
    total: Annotated[Literal["exact"] | None, Query()] = None,
) -> PageRequest:
    return PageRequest(limit, offset, total == "exact")


type CurrentPage = Annotated[PageRequest, Depends(page_request)]


class Pagination(BaseModel):
    model_config = ConfigDict(frozen=True)

    total: int
    limit: int
    offset: int
    total_is_minimum: bool | None = Field(default=None, description="Present and true where there are more.")


class Page[Item](BaseModel):
    """One page of a list. Routes declare ``response_model_exclude_unset``, which leaves out ``total_is_minimum``."""

    model_config = ConfigDict(frozen=True)

    data: list[Item]
    pagination: Pagination


def pagination_of(page: PageRequest, total: int, *, is_minimum: bool) -> Pagination:
    if is_minimum:
        return Pagination(total=total, limit=page.limit, offset=page.offset, total_is_minimum=True)
    # Unset, and so left out of the answer (``response_model_exclude_unset``).
    return Pagination(total=total, limit=page.limit, offset=page.offset)
