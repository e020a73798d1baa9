"""The published rules as this detector uses them, and what is written by hand beside them."""

import random

import pytest

from headgate.configuration.resources import resource_path
from headgate.detectors.inspect import inspect
from headgate.detectors.limits import Limits
from headgate.detectors.secrets import find_secrets
from tests.labelled import credentials
from tests.labelled.published import PLACES, published

_PATIENT = Limits(seconds_max=60)
_RNG = random.Random(7)  # noqa: S311 - repeatable, not secret
_TOKEN = credentials.opaque(_RNG, "24")
_HEX = credentials.hex_secret(_RNG, "32")
_SHORT = "k7" + "Rt2w"


def _kinds(text: str) -> list[str]:
    return [one.kind for one in inspect(text, [find_secrets], _PATIENT).findings]


def test_each_published_rule_is_found_where_credentials_stand() -> None:
    missed: list[tuple[str, str]] = []
    texts = 0
    for kind, name, value in published(seed=1):
        for place in PLACES:
            texts += 1
            text = place.format(name=name, NAME=name.upper(), value=value)
            if not _kinds(text):
                missed.append((kind, text))

    assert texts > 2000
    assert len(missed) / texts <= 0.03, missed[:20]


def test_the_published_rules_name_their_version_and_license() -> None:
    head = resource_path("detectors", "gitleaks.yaml").read_text("utf-8")[:2000]

    assert "gitleaks v8.30.1" in head
    assert "MIT License" in head
    assert "Copyright (c) 2019 Zachary Rice" in head


@pytest.mark.parametrize(
    "text",
    [
        f"curl -u deploy:{_SHORT} https://ci.example.net/job",
        f'curl -sS --user "deploy:{_SHORT}" https://ci.example.net/job',
        f"curl https://ci.example.net/job \\\n  -X POST \\\n  -u 'deploy:{_SHORT}'",
        f"curl -u {_TOKEN}: https://api.example.net/v1/charges",
        f"wget --user deploy:{_SHORT} https://ci.example.net/job",
        f'curl -H "Authorization: Token {_HEX}" https://api.example.net',
        f"curl --header 'X-Api-Key: {_TOKEN}' https://api.example.net",
        f"curl -H 'Authorization: {_TOKEN}' https://api.example.net",
        f"http GET api.example.net Authorization:'SSWS {_TOKEN}'",
        f"requests.get(url, headers={{'Authorization': 'Bearer {_TOKEN}'}})",
        f'req.Header.Set("X-Auth-Token", "{_TOKEN}")',
        "https://hooks." + "slack.com/workflows/T016M3G1GHZ/A04J3BAF7AA/442660231806210747/" + _TOKEN,
        f"HEROKU_API_KEY={_HEX[:8]}-{_HEX[8:12]}-{_HEX[12:16]}-{_HEX[16:20]}-{_HEX[20:]}",
        f"datadog_key: '{_HEX}{_HEX[:8]}'",
        "sk" + "_prod_" + _TOKEN,
        "pul" + "-" + _HEX + _HEX[:8],
        "sgp" + "_" + _HEX + _HEX[:8],
        "apiVersion: v1\nkind: Secret\nmetadata:\n  name: db\ndata:\n  pass: czNjcjN0LXZhbHVl\n",
        f'const apiToken: string = "{_TOKEN}";',
        f'var apiToken string = "{_TOKEN}"',
        f"api_token: |\n  {_TOKEN}\n",
        f'config.put("service_creds", "{_TOKEN}")',
        f'String sessionKey = "{_TOKEN}";',
    ],
)
def test_forms_beside_the_published_ones(text: str) -> None:
    assert _kinds(text)


@pytest.mark.parametrize(
    "text",
    [
        f"sumOfExposures = {_TOKEN[:14]}",
        f"rookTable = 00{_TOKEN}{_TOKEN[:16]}",
        "discord_channel_id: 112233445566778899",
        f"sentry_release = {_HEX}{_HEX[:8]}",
        "heroku_app_id: 3e1f0c2a-58d5-4f31-9a6b-1f6d6c0f8b11",
        "linear gradient key: first_of_all_the_other_keys",
        'curl -u "$USER:$PASSWORD" https://ci.example.net',
        "curl -u user:password https://ci.example.net",
        "curl -u <user>:<token> https://ci.example.net",
        "docker run -u 1000:1000 busybox",
        "curl -H 'Authorization: Bearer $TOKEN' https://api.example.net",
        "curl -H 'Accept: application/vnd.github+json' https://api.example.net",
        "x-amzn-key-id: 0123, x-request-id: 7a1b9c3d-0000-4000-8000-5f7e6a9b1c2d",
        "hf_requiredCharacteristicTypesForDisplayMetadata",
        "cache_key = " + _HEX,
        "primary_key: user_accounts_2024_index_by_name",
        "kind: Secret\nmetadata:\n  name: x\n---\nkind: ConfigMap\ndata:\n  mode: aGVsbG8gd29ybGQ=\n",
    ],
)
def test_what_only_looks_like_them_is_none(text: str) -> None:
    assert not _kinds(text)


def test_many_keywords_take_no_more_than_their_share_of_time() -> None:
    text = "curl -u discord key auth x- authorization: heroku kind: secret data: " * 800

    result = inspect(text, [find_secrets], Limits())

    assert not result.findings


def test_many_members_called_key_are_all_looked_at() -> None:
    tags = [{"Key": f"n{number}", "Value": "x"} for number in range(2000)]

    assert inspect(tags, [find_secrets], _PATIENT).complete
