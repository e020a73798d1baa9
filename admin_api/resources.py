"""Resources: the template that an address belongs to, and the methods that it has (RFC 9110, sections 9.1 and 10.2.1).

An address may match several templates: ``/admin/audit/verify`` is a word, and stands where an identifier could. It
belongs to the most specific one, and has that one's methods only.
"""

import re
from collections import defaultdict
from collections.abc import Iterable
from functools import cache
from typing import Final

from msgspec import Struct
from starlette.routing import BaseRoute, Route, compile_path

from headgate.kernel.errors import ErrorCode, HeadgateError

HEAD: Final = "HEAD"
OPTIONS: Final = "OPTIONS"
PARAMETER: Final = "{"
"""The start of a parameter in a template."""
_ANY: Final = "{}"


class Resource(Struct, frozen=True):
    """``methods``: what its routes declare. Every resource answers OPTIONS, and HEAD wherever it answers GET."""

    template: str
    methods: frozenset[str]

    def matches(self, path: str) -> bool:
        return _pattern(self.template).match(path) is not None

    @property
    def allow(self) -> str:
        return ", ".join(sorted(self.methods | {OPTIONS} | ({HEAD} if "GET" in self.methods else set())))


class MethodNotAllowedError(HeadgateError):
    """The resource is there and does not have this method; ``allow`` names those it has."""

    code = ErrorCode.METHOD_NOT_ALLOWED

    def __init__(self, method: str, allow: str) -> None:
        super().__init__(f"method not allowed: {method[:16]}; allowed: {allow}")
        self.allow = allow


class Resources:
    """All resources of an application."""

    def __init__(self, routes: Iterable[BaseRoute]) -> None:
        methods: dict[str, set[str]] = defaultdict(set)
        for route in routes:
            if isinstance(route, Route):
                methods[route.path] |= route.methods or set()
        self._by_beginning: dict[tuple[str, str], list[Resource]] = defaultdict(list)
        for template in sorted(methods, key=_specificity):
            resource = Resource(template, frozenset(methods[template]))
            self._by_beginning[_beginning(template)].append(resource)

    def at(self, path: str) -> Resource | None:
        """The resource of this address; None: there is none."""
        first, second = _beginning(path)
        for beginning in ((first, second), (first, _ANY)):
            for resource in self._by_beginning.get(beginning, ()):
                if resource.matches(path):
                    return resource
        return None


@cache
def _pattern(template: str) -> re.Pattern[str]:
    """Compiled when an address first has the template's beginning."""
    return compile_path(template)[0]


def _beginning(path: str) -> tuple[str, str]:
    """The first two segments, which tell most resources apart."""
    segments = [*path.split("/", 3), "", ""][1:3]
    first, second = (_ANY if one.startswith(PARAMETER) else one for one in segments)
    return first, second


def _specificity(template: str) -> list[int]:
    """Words before parameters before the rest of a path, from left to right."""
    return [2 if one.endswith(":path}") else int(one.startswith(PARAMETER)) for one in template.split("/")]
