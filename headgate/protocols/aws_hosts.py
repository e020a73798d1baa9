"""Hosts of AWS: of which service, and in which region (AWS, "AWS service endpoints"; Amazon S3, "Virtual hosting").

A name below AWS's domains says little by itself: machines and APIs of any customer have one. Only the forms here are
read as a service's own.
"""

import re
from collections.abc import Mapping
from enum import StrEnum
from functools import cache, lru_cache
from typing import Final

from msgspec import Struct

from headgate.configuration.resources import resource_path
from headgate.configuration.yaml_document import read_document

_DOMAINS: Final = (".amazonaws.com", ".amazonaws.com.cn", ".amazonaws.eu", ".api.aws")
_REGION: Final = r"(?P<region>[a-z]{2,4}(?:-[a-z]+)+-[0-9]{1,2})"
_DOMAIN: Final = r"\.(?:amazonaws\.com(?:\.cn)?|amazonaws\.eu|api\.aws)"
_SERVICE: Final = re.compile(rf"(?P<prefix>[a-z0-9.-]+?)(?:-fips)?(?:\.(?:{_REGION}|global))?{_DOMAIN}")
_DYNAMODB_OF_ACCOUNT: Final = re.compile(rf"[0-9]{{12}}\.ddb\.{_REGION}{_DOMAIN}")
_S3: Final = re.compile(
    rf"(?:(?P<bucket>[A-Za-z0-9._-]+)\.)?"
    rf"(?:s3(?:-fips)?(?:\.dualstack)?(?:[.-]{_REGION})?|s3-accelerate(?:\.dualstack)?|s3-external-1){_DOMAIN}"
)


class Wire(StrEnum):
    """How a service is told the operation."""

    JSON = "json"
    QUERY = "query"
    CBOR = "cbor"


class Service(Struct, frozen=True):
    """``name``: as signatures carry it."""

    name: str
    wires: frozenset[Wire]


class AwsHost(Struct, frozen=True):
    """``service`` None: of S3, in ``bucket``'s own name or None. ``region`` None: the host names none."""

    service: Service | None
    bucket: str | None
    region: str | None


@cache
def services() -> Mapping[str, Service]:
    """By the first part of the host name. Read once in the life of a process."""
    document = read_document(resource_path("aws_services.yaml"))
    section = document.section("services")
    found = {}
    for prefix in section.members:
        name, *wires = section.strings(prefix)
        found[prefix] = Service(name, frozenset(Wire(wire) for wire in wires))
    return found


@cache
def wires_of(name: str) -> frozenset[Wire]:
    """By the name in the signature: of all services that share it."""
    return frozenset().union(*(one.wires for one in services().values() if one.name == name))


def is_of_aws(host: str) -> bool:
    return host.endswith(_DOMAINS)


@lru_cache(maxsize=1024)
def read_host(host: str) -> AwsHost | None:
    """None: none of the forms that are read."""
    if (match := _S3.fullmatch(host)) is not None:
        return AwsHost(None, match["bucket"], match["region"])
    if (match := _DYNAMODB_OF_ACCOUNT.fullmatch(host)) is not None:
        return AwsHost(services()["dynamodb"], None, match["region"])
    match = _SERVICE.fullmatch(host)
    service = None if match is None else services().get(match["prefix"])
    return None if match is None or service is None else AwsHost(service, None, match["region"])
