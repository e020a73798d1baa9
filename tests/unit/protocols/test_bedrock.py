"""Requests of Amazon Bedrock as AWS's SDK for Python writes and signs them."""

import json
from collections.abc import Callable, Iterator
from io import BytesIO
from typing import Any
from urllib.parse import urlsplit

import botocore.session
import pytest
from botocore.awsrequest import AWSPreparedRequest, AWSResponse

from headgate.kernel.canonical_json import parse_strict
from headgate.kernel.errors import AmbiguousRequestError
from headgate.protocols.draft import ActionDraft, Effect
from headgate.protocols.http_call import HttpCall
from headgate.tools.interpret import interpret
from headgate.tools.match import CatalogueIndex

CLAUDE = "anthropic.claude-3-5-sonnet-20240620-v1:0"
PROFILE = "arn:aws:bedrock:eu-central-1:123456789012:application-inference-profile/a1b2c3"
SAID = [{"role": "user", "content": [{"text": "hi"}]}]
MESSAGES = json.dumps({"anthropic_version": "b", "max_tokens": 9, "messages": [{"role": "user", "content": "hi"}]})
HOST = "bedrock-runtime.eu-central-1.amazonaws.com"


class Kept(BytesIO):
    """The stream that the SDK reads an answer from."""

    def stream(self, **_: object) -> Iterator[bytes]:
        yield self.read()


def sent(ask: Callable[[Any], object]) -> HttpCall:
    """What the SDK would have sent."""
    session = botocore.session.get_session()
    session.set_credentials("AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY")
    client = session.create_client("bedrock-runtime", region_name="eu-central-1")
    kept: list[AWSPreparedRequest] = []

    def keep(request: AWSPreparedRequest, **_: object) -> AWSResponse:
        kept.append(request)
        return AWSResponse(request.url, 200, {}, Kept(b"{}"))

    client.meta.events.register("before-send", keep)
    ask(client)
    [request] = kept
    parts = urlsplit(request.url)
    fields = tuple(
        (name.encode(), value if isinstance(value, bytes) else value.encode())
        for name, value in request.headers.items()
    )
    body = request.body if isinstance(request.body, bytes) else request.body.encode()
    return HttpCall(request.method, "https", parts.hostname or "", 443, parts.path, parts.query, fields, body)


def facts(draft: ActionDraft) -> dict[str, Any]:
    assert draft.facts is not None
    shown = parse_strict(draft.facts.shown)
    assert isinstance(shown, dict)
    return shown


@pytest.mark.parametrize(
    ("ask", "model", "stream"),
    [
        pytest.param(lambda sdk: sdk.converse(modelId=CLAUDE, messages=SAID), CLAUDE, False, id="converse"),
        pytest.param(lambda sdk: sdk.invoke_model(modelId=CLAUDE, body=MESSAGES), CLAUDE, False, id="no label"),
        pytest.param(
            lambda sdk: sdk.invoke_model(modelId=CLAUDE, body=MESSAGES, contentType="application/json"),
            CLAUDE, False, id="labelled",
        ),
        pytest.param(
            lambda sdk: sdk.invoke_model_with_response_stream(modelId=CLAUDE, body=MESSAGES), CLAUDE, True, id="stream"
        ),
        pytest.param(
            lambda sdk: sdk.invoke_model(modelId="amazon.titan-text-express-v1", body='{"inputText": "hi"}'),
            "amazon.titan-text-express-v1", False, id="Titan's texts",
        ),
        pytest.param(lambda sdk: sdk.converse(modelId=PROFILE, messages=SAID), PROFILE, False, id="a profile's ARN"),
    ],
)  # fmt: skip
def test_a_signed_completion_is_one_of_a_language_model(
    ask: Callable[[Any], object], model: str, *, stream: bool
) -> None:
    draft = interpret(sent(ask), CatalogueIndex([]))
    assert (draft.tool, draft.operation, draft.effect) == ("llm", "chat", Effect.WRITE)
    told = facts(draft)
    assert (told["provider"], told["model"], told["stream"]) == ("bedrock", model, stream)


def test_another_form_keeps_the_name_of_its_operation() -> None:
    """Titan's embeddings: no form that is read, and still a call of a model."""
    call = sent(lambda sdk: sdk.invoke_model(modelId="amazon.titan-embed-text-v2:0", body='{"inputText": "hi"}'))
    draft = interpret(call, CatalogueIndex([]))
    assert (draft.tool, draft.operation, draft.effect) == ("aws", "bedrock_invoke_model", Effect.WRITE)
    assert facts(draft)["operation"] == "InvokeModel"


@pytest.mark.parametrize(
    ("host", "path"),
    [
        ("x.example", "/model/arn%3Aaws%3Abedrock%3Aa%2Fb/converse"),
        (HOST, "/model/claude%2Fb/converse"),
        (HOST, "/guardrail/arn%3Aaws%2Fb/version/1/apply"),
    ],
)
def test_an_encoded_slash_stays_refused_elsewhere(host: str, path: str) -> None:
    with pytest.raises(AmbiguousRequestError, match="encoded slash"):
        interpret(HttpCall("POST", "https", host, 443, path, "", (), b"{}"), CatalogueIndex([]))


def test_a_signature_for_another_service_asks_no_model() -> None:
    call = sent(lambda sdk: sdk.converse(modelId=CLAUDE, messages=SAID))
    fields = tuple((name, value.replace(b"/bedrock/", b"/s3/")) for name, value in call.headers)
    other = HttpCall(call.method, call.scheme, call.host, call.port, call.path, call.query, fields, call.body)
    draft = interpret(other, CatalogueIndex([]))
    assert (draft.tool, draft.operation) == ("aws", "s3_unknown")
