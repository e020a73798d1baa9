"""Policies about content in the proxy's decisions: what the rules allow is refused, held, or goes on."""

import contextlib
from collections.abc import Iterator
from typing import Any

from tests.e2e.clients import Administrator, error_of

_MAIL = {"note": "write to maria.keller@example.com"}


def _allowed(path: str) -> str:
    package = path.strip("/").replace("/", ".t")
    return f'package {package}\n\nallow if input.http.path == "{path}"\n'


@contextlib.contextmanager
def _content_policy(administrator: Administrator, **fields: Any) -> Iterator[str]:
    body = {"name": "No addresses", "type": "pii_detection", "threshold": 0.6, "scope": {"operations": ["post"]}}
    made = administrator.api.post("/admin/nlp-policies", json=body | fields)
    assert made.status_code == 201, made.text
    try:
        yield made.json()["id"]
    finally:
        administrator.api.delete(f"/admin/nlp-policies/{made.json()['id']}")


def test_a_call_whose_content_matches_is_refused_and_others_go_on(administrator, agent, upstream, path) -> None:
    with (
        administrator.policy(_allowed(path)),
        _content_policy(administrator, on_match="deny") as policy_id,
    ):
        refused = agent.call("POST", upstream.url + path, json=_MAIL)
        assert refused.status_code == 403
        error = error_of(refused)
        assert (error["code"], error["details"]["policy_id"]) == ("ACTION_DENIED", policy_id)
        assert "maria" not in error["message"]
        assert upstream.of(path) == []
        assert agent.call("POST", upstream.url + path, json={"note": "nothing"}).status_code == 200


def test_a_call_that_is_held_for_its_content_goes_on_once_approved(administrator, agent, upstream, path) -> None:
    with administrator.policy(_allowed(path)), _content_policy(administrator):
        call = agent.call_later("POST", upstream.url + path, json=_MAIL)
        pending = administrator.pending(path)
        administrator.approve(pending["id"])
        assert call.result().status_code == 200
    assert len(upstream.of(path)) == 1


def test_a_body_that_cannot_be_read_is_held(administrator, agent, upstream, path) -> None:
    with administrator.policy(_allowed(path)), _content_policy(administrator):
        picture = {"content": bytes(range(256)), "headers": {"content-type": "image/png"}}
        call = agent.call_later("POST", upstream.url + path, **picture)
        pending = administrator.pending(path)
        assert "not text" in pending["decision"]["reason"]
        administrator.deny(pending["id"], "no pictures")
        assert call.result().status_code == 403
    assert upstream.of(path) == []
