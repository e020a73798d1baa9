"""What tells a credential from a text that only looks like one."""

import random

import pytest

from headgate.agents.keys import generate_key
from headgate.detectors.inspect import inspect
from headgate.detectors.limits import Budget
from headgate.detectors.mask import mask_secrets
from headgate.detectors.model import Finding, Match
from headgate.detectors.secrets import find_secrets
from headgate.kernel.canonical_json import JsonValue
from headgate.kernel.secrets import MASK
from tests.labelled import credentials


def _rng(seed: str) -> random.Random:
    return random.Random(seed)  # noqa: S311 - repeatable, not secret


def _found(text: str) -> list[Finding]:
    return list(inspect(text, [find_secrets]).findings)


@pytest.mark.parametrize("name", sorted(credentials.LABELLED))
def test_each_form_is_known_where_a_name_stands_before_it(name: str) -> None:
    value = credentials.LABELLED[name](_rng(name))
    prefix = {"aws_secret": "aws_secret_access_key", "password": "password", "random_password": "password"}

    assert _found(f"{prefix.get(name, 'api_secret')} = {value}\n")


_LETTERS = "iIKCCPRTMdOApvokilnbWERTYuiopasdfQADFJk"
"""No digit, and few changes between upper and lower case, as in a name."""


@pytest.mark.parametrize(
    ("prefix", "length"),
    [
        ("AKI" + "A", 16), ("sk_" + "live_", 24), ("whsec" + "_", 32), ("GOCSPX" + "-", 28), ("glpa" + "t-", 20),
        ("gldt" + "-", 20), ("hf" + "_", 34), ("hvs" + ".", 24), ("dckr_pat" + "_", 27),
    ],
)  # fmt: skip
def test_a_token_of_a_vendor_s_exact_length_needs_no_digit(prefix: str, length: int) -> None:
    letters = _LETTERS[:length].upper() if length == 16 else _LETTERS[:length]
    [found] = _found(f"see {prefix}{letters} there")
    assert found.place.offset == 4
    assert _found(f"see {prefix}{letters}") != []
    words = "thepersonalaccesstokenofthatservicewhich"
    assert _found(f"see {prefix}{words[:length]} there") == []


def test_letters_of_another_length_may_be_a_name() -> None:
    assert _found("see glpa" + f"t-{_LETTERS[:20]}ofthesameservice there") == []


@pytest.mark.parametrize(
    ("before", "length", "kind"),
    [
        ("please keep 00D5g000004abcd!AQE", 77, "salesforce_session"),
        ("sid%3D00D5g000004abcd%21AQE", 77, "salesforce_session"),
        ("vault operator unseal ", 44, "unseal_key"),
        ("bao operator unseal -address=http://10.0.0.4 '", 44, "unseal_key"),
    ],
)
def test_sessions_and_keys_in_a_command_are_known(before: str, length: int, kind: str) -> None:
    rng = _rng(before)
    value = "".join(rng.choices("abcdefghijkmnopqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789", k=length))

    assert kind in {one.kind for one in _found(f"{before}{value} there")}


@pytest.mark.parametrize(
    "text",
    ["vault operator unseal -migrate", "vault operator unseal < key.txt", "account 00D5g000004abcd of Salesforce"],
)
def test_commands_and_numbers_without_a_key_are_none(text: str) -> None:
    assert _found(text) == []


def test_our_own_keys_are_known_for_certain() -> None:
    [finding] = _found(f"use {generate_key().reveal()} please")

    assert (finding.kind, finding.confidence) == ("headgate_key", 0.99)


def test_a_wrong_checksum_makes_a_token_doubtful_and_a_made_up_one_nothing() -> None:
    token = credentials.github(_rng("github"))
    wrong = token[:-1] + ("a" if token[-1] != "a" else "b")

    assert [one.confidence for one in _found(f"see {token} there")] == [0.99]
    assert [one.confidence for one in _found(f"see {wrong} there")] == [0.6]
    assert _found("see gh" + "p_" + "x" * 36 + " there") == []


def test_a_token_that_names_no_algorithm_is_none() -> None:
    assert _found("eyJmb28iOiJiYXIifQ" + ".eyJmb28iOiJiYXIifQ." + "A1b2C3d4E5f6G7h8") == []


@pytest.mark.parametrize(
    "text",
    [
        "password = os.environ['PASSWORD']",
        "password: ${SECRET}",
        "password: {{ vault.password }}",
        "token = next_page_token",
        "max_tokens=4096",
        "postgresql://user:password@localhost/app",
        "password: changeme",
        "token: 4b1d6f0e-8a34-4c39-9b7a-0f6f2a8d8f10",
        "password_reset_timeout=86400",
    ],
)
def test_a_reference_a_placeholder_or_a_number_of_something_is_no_secret(text: str) -> None:
    assert _found(text) == []


def test_a_private_key_is_one_finding_with_its_body() -> None:
    key = credentials.private_key(_rng("key"))
    [finding] = _found(f"here\n{key}\nthere")

    assert finding.kind == "private_key"
    assert f"({len(key)} characters)" in finding.sample


def test_a_key_without_its_end_hides_nothing_in_the_values_after_it() -> None:
    key = "-----BEGIN PRIVATE KEY-----\n" + "MIIEvQIBADANBgkqhkiG9w0BAQEFAASC" * 3
    token = credentials.gitlab(_rng("gitlab"))
    value: JsonValue = {"a": key, "b": "some text", "c": token}

    found = inspect(value, [find_secrets]).findings
    masked, _ = mask_secrets(value)

    assert [one.place.path for one in found] == ["$.a", "$.c"]
    assert masked == {"a": MASK, "b": "some text", "c": MASK}


def test_what_reaches_over_two_values_takes_no_place_of_what_lies_in_one() -> None:
    token = credentials.gitlab(_rng("gitlab"))

    def reaching(buffer: bytes, _budget: Budget) -> list[Match]:
        return [Match("reaching", 0, len(buffer), 1.0)]

    assert [one.place.path for one in inspect(["a", token], [reaching, find_secrets]).findings] == ["$[1]"]


@pytest.mark.parametrize(
    "text",
    [
        '{"fileKey": "Vyvq7oHGStisS3Dv2gjuO7"}',
        "$skiptoken=RFNwdAIAAQAAACU6bWVyaWRpYW4tY2FsZW5kYXItcGFnZS0wMDAwMDAwMDUwBQAAAA",
        '{"deltaToken": "qnqJt1sKEKCJS5ZC4ML5lMJXyHvacbz4"}',
        '{"SecretArn": "arn:aws:secretsmanager:eu-central-1:116615169418:secret:orders/db-Ab3dEf"}',
        '{"secret": "projects/83120441973/secrets/db-password/versions/12"}',
    ],
)
def test_the_name_of_a_thing_or_of_a_secret_is_none(text: str) -> None:
    assert _found(text) == []


@pytest.mark.parametrize(
    "text",
    [
        '{"file_access_key": "Vyvq7oHGStisS3Dv2gjuO7"}',
        '{"projectApiKey": "Vyvq7oHGStisS3Dv2gjuO7"}',
        '{"storage_key": "Vyvq7oHGStisS3Dv2gjuO7"}',
        '{"secret": "arn:none:Vyvq7oHGStisS3Dv2gjuO7"}',
        '{"SecretArn": "arn:aws:secretsmanager:eu-central-1:116615169418:secret:'
        + credentials.gitlab(_rng("arn"))
        + '"}',
    ],
)
def test_a_key_of_a_thing_is_one(text: str) -> None:
    assert _found(text)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("login: kowal, hasło: Bursztyn#4471x", "password"),
        ("wachtwoord: Tulp-99xx!a", "password"),
        ("Пароль: Kalina4471!x", "password"),
        ("パスワード\uff1aSakura88!x", "password"),
        ("host=db1 user=ops pw=Copper!77x2 port=5432", "short_named_password"),
        ("Recovery codes: 12345670 23456781 34567892 45678903", "recovery_codes"),
        ("codici-di-recupero/12345670-23456781-34567892-45678903", "recovery_codes"),
        ("kim@northwind.example:Copper77!x:gold\nlee@northwind.example:Amber41!yy:gold", "mail_with_password"),
        ("secret_aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3zA5bC7dE9f", "notion_internal_secret"),
    ],
)
def test_a_password_or_code_is_known_by_the_word_before_it(text: str, kind: str) -> None:
    assert kind in {one.kind for one in _found(text)}


@pytest.mark.parametrize(
    "text",
    [
        "git@github.com:northwind/Repo-9x.git",
        "scp report.pdf ops@host1.example:Report-2026.pdf",
        "ssh ops@host1.example:2222",
        "kim@northwind.example: Order-77 is done",
        "registry@sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        "the signal has pw: 120us and the pump pw=1024",
        "Disaster recovery was tested on 20260101, 20260201 and 20260301",
        "Nie pamiętam hasła. Hasło: min. 12 znaków",
        "passord er byttet, wachtwoord vergeten, heslo zapomenuto",
        "secret_santa_and_the_other_names_of_the_list_that_follow",
    ],
)
def test_words_for_passwords_and_codes_alone_are_none(text: str) -> None:
    assert _found(text) == []
