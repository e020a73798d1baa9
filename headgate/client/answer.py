"""What is read of an HTTP response, whichever library received it. ``httpx.Response`` is one."""

from collections.abc import Mapping
from typing import Any, Protocol


class Answer(Protocol):
    """A response whose body was read. Names of headers are found in any case."""

    @property
    def url(self) -> object: ...
    @property
    def status_code(self) -> int: ...
    @property
    def is_success(self) -> bool: ...
    @property
    def headers(self) -> Mapping[str, str]: ...
    @property
    def content(self) -> bytes: ...
    def json(self) -> Any:
        """Raises ValueError."""
