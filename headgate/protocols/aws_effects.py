"""What an operation of AWS does, by its name: ``config/aws_services.yaml``.

AWS names its operations by a verb. Some that are named as reads hand out credentials or do more: those count as writes,
so that no policy that allows reads lets them through.
"""

import re
from collections.abc import Mapping
from functools import cache
from typing import Final

from msgspec import Struct

from headgate.configuration.resources import resource_path
from headgate.configuration.yaml_document import read_document
from headgate.protocols.draft import Effect

_DESTROYS: Final = re.compile(r"(?:Delete|BatchDelete|Terminate|Purge)(?![a-z])")
_S3_READS: Final = re.compile(r"(?:Get|List|Head)(?![a-z])")
_S3: Final = "s3"


class OperationTable(Struct, frozen=True):
    """``writes``: by the service as signatures name it."""

    read_verbs: re.Pattern[str]
    reads: frozenset[str]
    writes: Mapping[str, frozenset[str]]


@cache
def operation_table() -> OperationTable:
    """Read once in the life of a process. Raises ValidationError for a table that cannot be used."""
    document = read_document(resource_path("aws_services.yaml"))
    document.only("services", "read_verbs", "reads", "writes")
    writes = document.section("writes")
    return OperationTable(
        re.compile(rf"(?:{'|'.join(map(re.escape, document.strings('read_verbs')))})(?![a-z])"),
        frozenset(document.strings("reads")),
        {service: frozenset(writes.strings(service)) for service in writes.members},
    )


def effect_of(service: str, operation: str) -> Effect:
    """``service``: as signatures name it."""
    if _reads(service, operation):
        return Effect.READ
    return Effect.DESTRUCTIVE if _DESTROYS.match(operation) is not None else Effect.WRITE


def _reads(service: str, operation: str) -> bool:
    if service == _S3:
        return _S3_READS.match(operation) is not None
    table = operation_table()
    named_as_read = operation in table.reads or table.read_verbs.match(operation) is not None
    return named_as_read and operation not in table.writes.get(service, frozenset())
