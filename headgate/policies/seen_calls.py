"""Groups recorded actions by kind of call: the same agent, tool and operation and, if Headgate makes the call, the
same method, scheme, host and port. Pure."""

from collections.abc import Iterable
from typing import Final

from msgspec import Struct, field

from headgate.kernel.canonical_json import JsonObject, JsonValue, canonical_bytes

VARIANTS_MAX: Final = 20
_PARAM_VALUES_MAX: Final = 10_000
_CALL_PARTS: Final = ("method", "scheme", "host", "port")
SENT_PARTS: Final = ("path", "query", "body_sha256")


class SeenCall(Struct, frozen=True):
    """One executed action in the form that policies read. ``is_masked``: a secret in it was masked."""

    agent_id: str
    agent_name: str
    tool: str
    operation: str
    input: JsonObject
    is_masked: bool


class CallKind(Struct):
    """Calls of one kind; ``variants`` are the distinct contents by canonical form, up to a few more than are listed."""

    agent_id: str
    agent_name: str
    tool: str
    operation: str
    call: JsonObject
    example: JsonObject
    count: int = 0
    masked: int = 0
    variants: dict[bytes, JsonObject] = field(default_factory=dict)
    params: dict[str, set[bytes]] = field(default_factory=dict)
    always: set[str] | None = None

    @property
    def title(self) -> str:
        at = f" at {self.call['method']} {self.call['host']}" if self.call else ""
        # On one line, because it goes into a comment of the suggested policy and a name may contain line breaks.
        return f"{self.tool}.{self.operation}{at} of {' '.join(self.agent_name.split())}"

    def add(self, call: SeenCall) -> None:
        self.count += 1
        self.masked += call.is_masked
        params = object_of(call.input.get("params"))
        sent: JsonObject = {"params": params}
        http = object_of(call.input.get("http"))
        sent |= {name: http[name] for name in SENT_PARTS if name in http}
        if len(self.variants) <= VARIANTS_MAX:
            self.variants.setdefault(canonical_bytes(sent), sent)
        self.always = set(params) if self.always is None else self.always & set(params)
        for name, value in params.items():
            values = self.params.setdefault(name, set())
            if len(values) < _PARAM_VALUES_MAX:
                values.add(canonical_bytes(value))


def kinds_of(calls: Iterable[SeenCall]) -> list[CallKind]:
    kinds: dict[bytes, CallKind] = {}
    for call in calls:
        http = object_of(call.input.get("http"))
        parts: JsonObject = {name: http[name] for name in _CALL_PARTS if name in http}
        key = canonical_bytes([call.agent_id, call.tool, call.operation, parts])
        if key not in kinds:
            kinds[key] = CallKind(call.agent_id, call.agent_name, call.tool, call.operation, parts, call.input)
        kinds[key].add(call)
    return list(kinds.values())


def object_of(value: JsonValue) -> JsonObject:
    return value if isinstance(value, dict) else {}
