"""What a policy answers, and what it may read."""

import json
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from time import monotonic, sleep

import pytest
from regorus import Data, EvaluationError, Input, InputError, Policy, RegoError, engine_version


def decide(text: str, document: object = None, **options: object) -> object:
    policy = Policy(f"package hg.p1\n{text}", **options)  # type: ignore[arg-type]  # options are the test's
    return json.loads(policy.decide(json.dumps(document or {}).encode()))


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("allow := true", {"allow": True}),
        ("import rego.v1\nallow := true", {"allow": True}),
        ("other := 1", {}),
        ("allow if false", {}),
        ("default allow := false", {"allow": False}),
        ("deny := false", {"deny": False}),
        ('deny contains "b" if true\ndeny contains "a" if true', {"deny": ["a", "b"]}),
        ('deny contains "x" if false', {"deny": []}),
        ('require_approval := ["x"]', {"require_approval": ["x"]}),
        ("deny.because := 1", {"deny": {"because": 1}}),
        ('allow := true\nreason := "r"\nrisk_level := "low"', {"allow": True, "reason": "r", "risk_level": "low"}),
        ("require_approval := true\napproval := {}", {"require_approval": True, "approval": {}}),
        ("allow := true\nreason := 1 if false", {"allow": True}),
    ],
)
def test_answers_with_what_is_defined(text: str, answer: object) -> None:
    assert decide(text) == answer


@pytest.mark.parametrize("verdict", ["deny", "require_approval", "allow"])
@pytest.mark.parametrize("silence", ["false", "set()", "[]", None])
@pytest.mark.parametrize("detail", ["reason", "risk_level", "approval", "capture"])
def test_explains_only_what_was_said(verdict: str, silence: str | None, detail: str) -> None:
    rule = f"{verdict} if false" if silence is None else f"{verdict} := {silence}"
    answer = decide(f'{rule}\n{detail} := to_number("no number")')
    assert detail not in answer  # type: ignore[operator]  # an object
    with pytest.raises(EvaluationError):
        decide(f'{verdict} := true\n{detail} := to_number("no number")')


def test_input_action_is_the_input() -> None:
    assert decide('allow if input.action.tool == "t"', {"tool": "t"}) == {"allow": True}
    assert decide("allow if input.action == 1", {"action": 1}) == {"allow": True}


def test_one_input_serves_many_policies() -> None:
    shared = Input(b'{"n": 1}')
    policies = [Policy(f"package p{n}\nallow if input.n == {n}") for n in range(3)]
    assert [policy.decide(shared) for policy in policies] == [b"{}", b'{"allow":true}', b"{}"]


def test_reads_data_and_libraries() -> None:
    answer = decide(
        "import data.lib.hosts\nallow if hosts.known(input.host)",
        {"host": "a"},
        data=Data(b'{"allowlist": {"hosts": ["a"]}}'),
        libraries=[("hosts.rego", "package lib.hosts\nknown(h) if h in data.allowlist.hosts")],
    )
    assert answer == {"allow": True}


@pytest.mark.parametrize(
    ("source", "options", "message"),
    [
        ("package lib.x\nallow := true", {}, "lib is reserved"),
        ("package lib\nallow := true", {}, "lib is reserved"),
        ("package headgate_entry\nallow := true", {}, "reserved"),
        ("package headgate_entry.x\nallow := true", {}, "reserved"),
        ("package p\nallow if data.headgate_entry.out", {}, "reserved"),
        ("package p\nallow := true", {"libraries": [("x", "package other\nx := 1")]}, "must be in a package lib."),
        ("package p\nallow := true", {"libraries": [("x", "package lib\nx := 1")]}, "must be in a package lib."),
        ("package p\nallow := true", {"libraries": [("policy.rego", "package lib.x\nx := 1")]}, "two modules"),
        # A document at a rule's path would beat it without a word.
        ("package p\ndeny := true", {"data": Data(b'{"p": {"deny": false}}')}, "would hide"),
        ("package p.q\ndeny := true", {"data": Data(b'{"p": 1}')}, "would hide"),
        ("package p\ndeny := true", {"data": Data(b'{"headgate_entry": {}}')}, "would hide"),
        ("package p\ndeny(x) := x", {}, "cannot be a function"),
        ("package p\nimport input\nallow := true", {}, "no import"),
    ],
)
def test_keeps_packages_apart(source: str, options: dict[str, object], message: str) -> None:
    with pytest.raises(RegoError, match=message):
        Policy(source, **options)  # type: ignore[arg-type]  # options are the test's


def test_policies_and_libraries_together_have_a_bound() -> None:
    libraries = [(f"l{n}.rego", f"package lib.l{n}\n" + "x := 1\n" * 450) for n in range(5)]
    with pytest.raises(RegoError, match="2250 rules with the libraries"):
        Policy("package p", libraries=libraries)


def test_data_beside_a_package_is_no_conflict() -> None:
    policy = Policy("package p.q\nallow if data.p.r == 1", data=Data(b'{"p": {"r": 1}}'))
    assert policy.decide(b"{}") == b'{"allow":true}'


def test_names_its_package_and_rules() -> None:
    policy = Policy('package hg["a b"].c\nf(x) := x\nallow if f(true)\na.b := 1\ndefault deny := false')
    assert policy.package == 'hg["a b"].c'
    assert policy.rules == ["allow", "a.b", "deny"]
    assert json.loads(policy.decide(b"{}")) == {"allow": True, "deny": False}


def test_queries_one_rule() -> None:
    policy = Policy("package p\nx := input.a\ns contains 2\ns contains 1\nallow if x == 1")
    assert policy.query("x", b'{"a": {"b": null}}') == b'{"b":null}'
    assert policy.query("x", b"{}") == b""
    assert policy.query("s", Input(b"{}")) == b"[1,2]"
    with pytest.raises(EvaluationError, match="no rule"):
        policy.query("y", b"{}")


def test_writes_keys_that_are_no_strings_as_their_json() -> None:
    policy = Policy('package p\nx := {1: "a", [2]: "b"}\ny := {1: "a", "1": "b"}')
    assert policy.query("x", b"{}") == b'{"1":"a","[2]":"b"}'
    with pytest.raises(EvaluationError, match="two keys"):
        policy.query("y", b"{}")


def test_gives_its_syntax_tree() -> None:
    text = 'package p\nallow if { print(1); input.tool == "t" }'
    (module,) = json.loads(Policy(text).ast())
    assert module["source"]["contents"] == text
    assert module["ast"]["rules"]


def test_a_strict_error_is_an_error_and_not_silence() -> None:
    with pytest.raises(EvaluationError) as caught:
        decide('deny if to_number("x") > 9')
    assert caught.value.kind == "error"
    assert "policy.rego:2:" in caught.value.reason


@pytest.mark.parametrize("document", [b"[1]", b"null", b'{"a": 1', b'{"a": 1, "a": 2}', b"\xff", b'{"a": "\\ud800"}'])
def test_refuses_what_is_no_object(document: bytes) -> None:
    policy = Policy("package p\nallow := true")
    with pytest.raises(EvaluationError) as caught:
        policy.decide(document)
    assert caught.value.kind == "input"
    for make in (Input, Data):
        with pytest.raises(InputError):
            make(document)


def test_strings_keep_nul() -> None:
    assert decide('allow if input.s == "a\\u0000b"\ndeny contains input.s', {"s": "a\0b"}) == {
        "allow": True,
        "deny": ["a\0b"],
    }


def test_takes_an_input_or_bytes_only() -> None:
    with pytest.raises(TypeError):
        Policy("package p").decide("{}")  # type: ignore[arg-type]  # a caller without types


def test_prints_are_taken_out_and_nothing_else_moves() -> None:
    text = 'print("a",\n  # a comment\n  input)\n  input.print == "print(1)" # print(2)\n  print()'
    assert decide(f"allow if {{\n  {text}\n}}", {"print": "print(1)"}) == {"allow": True}
    with pytest.raises(EvaluationError, match=r"policy\.rego:3:"):
        decide('allow if {\n  print("é"); to_number("x")\n}')


def test_evaluates_beside_other_threads() -> None:
    slow = Policy(
        "package p\nn := numbers.range(1, 5000)\nallow if { some a in n; some b in n; a + b < 0 }",
        time_limit_milliseconds=300,
    )
    ticks: list[float] = []
    done = threading.Event()

    def tick() -> None:
        while not done.is_set():
            ticks.append(monotonic())
            sleep(0.005)

    ticker = threading.Thread(target=tick)
    ticker.start()
    try:
        with pytest.raises(EvaluationError):
            slow.decide(b"{}")
    finally:
        done.set()
        ticker.join()
    assert len(ticks) > 10  # the interpreter was free meanwhile


def test_many_threads_get_their_own_answers() -> None:
    policy = Policy('package p\ndeny contains sprintf("%d", [input.n])')
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda n: policy.decide(b'{"n": %d}' % n), range(500)))
    assert answers == [b'{"deny":["%d"]}' % n for n in range(500)]


def test_keeps_no_references() -> None:
    policy, shared = Policy("package p\nallow := true"), Input(b"{}")
    before = sys.getrefcount(shared)
    for _ in range(10):
        policy.decide(shared)
    assert sys.getrefcount(shared) == before


def test_names_the_version_of_the_engine() -> None:
    assert tuple(int(part) for part in engine_version().split(".")) >= (0, 14, 1)
