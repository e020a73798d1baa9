"""The answer of a DELETE after which nothing is left to show. Others answer with the record as it is now."""

from typing import Literal

from admin_api.schema import BaseModel


class DeletedAnswer(BaseModel):
    """The deleted record."""

    id: str
    deleted: Literal[True] = True
