"""The policies about gRPC that the reference shows decide real messages as it says."""

import json
import re
from pathlib import Path
from typing import Any, Final

import pytest
import regorus
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.descriptor_pb2 import FieldDescriptorProto as Proto

from headgate.actions.rego_input import rego_input
from headgate.policies.compile import compile_policy
from headgate.policies.lint import lint
from headgate.protocols.http_call import HttpCall
from headgate.tools.interpret import interpret
from headgate.tools.load import load_catalogue
from headgate.tools.match import CatalogueIndex

PAGE: Final = (Path(__file__).parents[3] / "docs" / "reference" / "policies.md").read_text("utf-8")
SECTION: Final = PAGE[PAGE.index("\n## gRPC\n") :].split("\n## ")[1]
BY_NUMBER, BY_NAME = re.findall(r"```rego\n(.*?)```", SECTION, re.DOTALL)
CATALOGUE: Final = "tool: bank\ndescription: Bank\nprotocol: grpc\nhosts: [bank.example.com]\n"
BLOCKED: Final = "DE89370400440532013000"


def _definitions() -> descriptor_pb2.FileDescriptorProto:
    """``message Payment { string to = 1; int64 cents = 2; }``"""
    file = descriptor_pb2.FileDescriptorProto(name="bank.proto", package="bank.v1", syntax="proto3")
    payment = file.message_type.add(name="Payment")
    for number, name, kind in ((1, "to", Proto.TYPE_STRING), (2, "cents", Proto.TYPE_INT64)):
        payment.field.add(name=name, number=number, type=kind, label=Proto.LABEL_OPTIONAL)
    file.service.add(name="Bank").method.add(name="Pay", input_type=".bank.v1.Payment", output_type=".bank.v1.Payment")
    return file


FILE: Final = _definitions()
_POOL: Final = descriptor_pool.DescriptorPool()
_POOL.Add(FILE)
Payment: Any = message_factory.GetMessageClass(_POOL.FindMessageTypeByName("bank.v1.Payment"))


def decision(policy: str, folder: Path, messages: list[bytes], *, by_name: bool) -> Any:
    compiled = compile_policy(policy, b"{}")
    assert lint(compiled.engine.ast(), policy, compiled.conditions, compiled.data.roots) == ()
    (folder / "bank.yaml").write_text(CATALOGUE)
    if by_name:
        files = descriptor_pb2.FileDescriptorSet(file=[FILE])
        (folder / "bank.binpb").write_bytes(files.SerializeToString())
    body = b"".join(b"\0" + len(one).to_bytes(4, "big") + one for one in messages)
    fields = ((b"content-type", b"application/grpc"),)
    call = HttpCall("POST", "https", "bank.example.com", 443, "/bank.v1.Bank/Pay", "", fields, body)
    draft = interpret(call, CatalogueIndex([load_catalogue(folder / "bank.yaml")]))
    document = regorus.Input(rego_input(draft, agent_id="agt_1", agent_name="payer"))
    return json.loads(compiled.engine.decide(document))


SMALL: Final = Payment(to="CH93", cents=500).SerializeToString()
LARGE: Final = Payment(to="CH93", cents=1_000_000).SerializeToString()


@pytest.mark.parametrize(("policy", "by_name"), [(BY_NUMBER, False), (BY_NAME, True)])
@pytest.mark.parametrize(
    ("is_allowed", "messages"),
    [
        (True, [SMALL]),
        (True, [SMALL, SMALL]),
        (False, [LARGE]),
        (False, [SMALL, LARGE]),
        (False, [SMALL + b"\x10\xc0\x84\x3d"]),  # the cents twice: a server takes the last
        (False, [b"\x08"]),
    ],
)
def test_small_payments_are_allowed(
    tmp_path: Path, policy: str, by_name: bool, is_allowed: bool, messages: list[bytes]
) -> None:
    assert bool(decision(policy, tmp_path, messages, by_name=by_name).get("allow")) is is_allowed


def test_an_account_is_denied_wherever_it_stands(tmp_path: Path) -> None:
    blocked = Payment(to=BLOCKED, cents=1).SerializeToString()
    for messages in ([blocked], [SMALL, blocked], [blocked + SMALL], [SMALL + blocked], [b"\x08", blocked]):
        assert decision(BY_NUMBER, tmp_path, messages, by_name=False)["deny"]
    assert not decision(BY_NUMBER, tmp_path, [SMALL], by_name=False).get("deny")
