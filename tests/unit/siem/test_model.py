"""The document of /admin/settings/siem: what is refused, and that no secret is repeated."""

import pytest

from headgate.kernel.errors import ValidationError
from headgate.siem.model import DestinationKind, parse_destinations


def test_kinds_and_default_ports() -> None:
    addresses = {
        "a": "syslog+tls://logs.example", "b": "syslog+tcp://[2001:db8::1]:1514", "c": "https://siem.example/x?y=1",
        "d": "file:",
    }  # fmt: skip
    found = parse_destinations({"destinations": {name: {"address": one} for name, one in addresses.items()}})
    assert [(one.kind, one.host, one.port) for one in found.destinations.values()] == [
        (DestinationKind.SYSLOG_TLS, "logs.example", 6514),
        (DestinationKind.SYSLOG_TCP, "2001:db8::1", 1514),
        (DestinationKind.HTTP, "siem.example", 443),
        (DestinationKind.FILE, "", 0),
    ]


@pytest.mark.parametrize(
    "document",
    [
        None, [], {}, {"destinations": []}, {"destinations": {}, "more": 1}, {"destinations": {"UPPER": {}}},
        {"destinations": {"a": {"address": 5}}}, {"destinations": {"a": {"address": "https://x.example", "b": 1}}},
        {"destinations": {"a": {"address": "ftp://x.example"}}}, {"destinations": {"a": {"address": "syslog://x"}}},
        {"destinations": {"a": {"address": "syslog+tls://"}}},
        {"destinations": {"a": {"address": "syslog+tls://u:p@x.example"}}},
        {"destinations": {"a": {"address": "syslog+tls://x.example/path"}}},
        {"destinations": {"a": {"address": "syslog+tcp://x.example:99999"}}},
        {"destinations": {"a": {"address": "file:///etc/passwd"}}},
        {"destinations": {"a": {"address": "file:", "authorization": "Bearer s3cret"}}},
        {"destinations": {"a": {"address": "https://x.example", "authorization": "s3cret\r\nX: y"}}},
        {"destinations": {"a": {"address": "https://u:s3cret@x.example"}}},
        {"destinations": {"a": {"address": "https://x.example", "enabled": "yes"}}},
        {"destinations": {"a": {"address": "https://x.example", "from": "yesterday"}}},
        {"destinations": {str(number): {"address": "file:"} for number in range(11)}},
    ],
)  # fmt: skip
def test_what_is_refused(document: object) -> None:
    with pytest.raises(ValidationError) as refused:
        parse_destinations(document)  # type: ignore[arg-type]
    assert "s3cret" not in refused.value.message + str(refused.value.details)
