"""A webhook of GitHub becomes one approval point, whose digest covers everything that policies read."""

from copy import deepcopy
from datetime import UTC, datetime
from typing import Any

import pytest

from headgate.integrations.form import parse_stored
from headgate.integrations.github.settings import GitHubSettings
from headgate.integrations.github.webhook import ApprovalPoint, point_of
from headgate.kernel.errors import ValidationError
from headgate.kernel.secrets import Secret
from tests.integration.admin_api.integrations.fake_github import SECRET, FakeGitHub, sent
from tests.integration.outgoing.receivers import Receiver


def settings(**changes: Any) -> GitHubSettings:
    document = {"base_url": "http://127.0.0.1:8080", "repositories": ["*"], "check_pull_requests": True, **changes}
    return parse_stored(GitHubSettings, document)


@pytest.fixture
def github() -> FakeGitHub:
    return FakeGitHub(Receiver(8080))


def read(event: str, payload: dict[str, Any], **changes: Any) -> ApprovalPoint | None:
    body, headers = sent(event, payload)
    given = {name.lower(): value for name, value in headers.items()}
    return point_of(given, body, Secret(SECRET), settings(**changes), datetime.now(UTC))


def points(github: FakeGitHub) -> list[tuple[str, dict[str, Any]]]:
    return [
        ("pull_request", github.pull_request()),
        ("deployment_protection_rule", github.deployment()),
        ("merge_group", github.merge_group()),
    ]


def leaves(document: Any, *path: str) -> list[tuple[str, ...]]:
    if not isinstance(document, dict):
        return [path]
    return [leaf for name, value in document.items() for leaf in leaves(value, *path, name)]


def changed(payload: dict[str, Any], path: tuple[str, ...]) -> dict[str, Any]:
    """With another value there that is valid."""
    made = deepcopy(payload)
    part = made
    for name in path[:-1]:
        part = part[name]
    value = part[path[-1]]
    if path[-1] == "deployment_callback_url":
        part[path[-1]] = value.replace("/runs/42/", "/runs/43/")
    else:
        part[path[-1]] = value + 1 if isinstance(value, int) else value + "x"
    return made


@pytest.mark.parametrize(("index", "fewest"), [(0, 8), (1, 8), (2, 6)])
def test_the_digest_covers_all_that_policies_read(github: FakeGitHub, index: int, fewest: int) -> None:
    """One member after the other is changed: where params or context are others, so are digest and external id."""
    event, payload = points(github)[index]
    first = read(event, payload)
    assert first is not None
    seen = 0
    for path in leaves(payload):
        if path[-1] in {"action", "updated_at", "timestamp"}:
            continue
        other = changed(payload, path)
        if path == ("repository", "full_name") and event == "deployment_protection_rule":
            other["deployment_callback_url"] = other["deployment_callback_url"].replace("/shop/", "/shopx/")
        second = read(event, other)
        assert second is not None, path
        same = (first.params, first.context) == (second.params, second.context)
        seen += not same
        if not same:
            assert second.digest != first.digest, path
        assert (second.digest == first.digest) == (second.opened.external_id == first.opened.external_id)
    assert seen >= fewest


def test_the_same_again_is_the_same_point(github: FakeGitHub) -> None:
    opened, reopened = (read("pull_request", github.pull_request(action)) for action in ("opened", "reopened"))
    assert opened is not None
    assert reopened is not None
    assert (opened.digest, opened.opened) == (reopened.digest, reopened.opened)


def test_no_policy_reads_what_is_edited_without_a_new_point(github: FakeGitHub) -> None:
    point = read("pull_request", github.pull_request())
    assert point is not None
    assert "title" not in point.params


@pytest.mark.parametrize(
    ("changes", "is_asked"),
    [
        ({"title": {"from": "Fix"}}, False),
        ({"body": {"from": "."}}, False),
        ({}, False),
        ({"base": {"ref": {"from": "scratch"}}}, True),
        ({"base": {"ref": {"from": "scratch"}}, "title": {"from": "Fix"}}, True),
        ({"unheard_of": {}}, True),
        (None, True),
    ],
)
def test_an_edited_pull_request_is_asked_about_unless_only_its_text_changed(
    github: FakeGitHub, changes: Any, is_asked: bool
) -> None:
    assert (read("pull_request", github.pull_request("edited", changes=changes)) is not None) is is_asked


@pytest.mark.parametrize(
    ("setting", "base", "name"),
    [
        ("Headgate ({base})", "main", "Headgate (main)"),
        ("Headgate", "main", "Headgate"),
        ("{base}", "{base}", "{base}"),
    ],
)
def test_the_check_is_named_after_its_base(github: FakeGitHub, setting: str, base: str, name: str) -> None:
    point = read("pull_request", github.pull_request(base=base), check_name=setting)
    assert point is not None
    assert point.opened.detail["check_name"] == name


def test_the_default_name_has_the_base() -> None:
    assert settings().check_name == "Headgate ({base})"


@pytest.mark.parametrize("missing", ["number", "head", "base"])
def test_a_pull_request_that_does_not_say_what_it_is_about_is_refused(github: FakeGitHub, missing: str) -> None:
    payload = github.pull_request()
    del payload["pull_request"][missing]
    with pytest.raises(ValidationError):
        read("pull_request", payload)


def test_a_merge_group_is_asked_about_while_its_queue_waits(github: FakeGitHub) -> None:
    point = read("merge_group", github.merge_group(base="release/1"))
    assert point is not None
    assert point.opened.detail["check_name"] == "Headgate (release/1)"
    assert (point.params["base"], point.params["sha"]) == ("release/1", "c" * 40)
    assert read("merge_group", github.merge_group("destroyed")) is None
    assert read("merge_group", github.merge_group(), check_pull_requests=False) is None


@pytest.mark.parametrize("missing", ["head_sha", "head_ref", "base_ref"])
def test_a_merge_group_that_does_not_say_what_it_is_about_is_refused(github: FakeGitHub, missing: str) -> None:
    payload = github.merge_group()
    del payload["merge_group"][missing]
    with pytest.raises(ValidationError):
        read("merge_group", payload)
