"""A key that a product takes in the query or in a form, at a host that is named as the product is: own
Moodle, Matomo, Redmine (``keyed_products`` of ``config/detectors/credential_destinations.yaml``).
"""

import re
from fnmatch import fnmatchcase
from typing import Final

from msgspec import Struct

from headgate.configuration.yaml_document import Section
from headgate.detectors.log_ins import is_own_service
from headgate.detectors.model import Finding, Place

_PARAMETER: Final = re.compile(
    r"\$\.(?:http\.query(?:\.([A-Za-z0-9_]+)|\['([^']+)'\])(?:\[[0-9]+\])?|body(?:\.([A-Za-z0-9_]+)|\['([^']+)'\])\[[0-9]+\])"
)
WITHOUT_FORM: Final = "token"
"""The kind of a key that no vendor's form tells."""


class KeyedProduct(Struct, frozen=True):
    """``named``: words of the first label. Of a path, ``*`` is any number of segments. ``names``: of parameters."""

    named: frozenset[str]
    paths: tuple[str, ...]
    names: frozenset[str]

    def takes(self, finding: Finding, host: str, path: str) -> bool:
        return (
            finding.kind == WITHOUT_FORM
            and parameter_of(finding.place) in self.names
            and any(fnmatchcase(path, one) for one in self.paths)
            and is_own_service(host, self.named)
        )


def keyed_products_of(section: Section) -> tuple[KeyedProduct, ...]:
    """Raises ValidationError for a table that cannot be used."""
    return tuple(_product(section.section(one)) for one in section.members)


def parameter_of(place: Place) -> str:
    """The name, in lower case, of the parameter of the query or of a form whose value was found as it stands."""
    found = None if place.steps else _PARAMETER.fullmatch(place.path)
    return "" if found is None else str(next(filter(None, found.groups()))).lower()


def _product(section: Section) -> KeyedProduct:
    section.only("named", "paths", "names")
    return KeyedProduct(
        frozenset(section.strings("named")), tuple(section.strings("paths")), frozenset(section.strings("names"))
    )
