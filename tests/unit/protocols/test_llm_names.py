"""Requests to language models in spellings that only a server without regard to case reads so."""

import pytest

from headgate.kernel.canonical_json import JsonObject
from headgate.kernel.errors import AmbiguousRequestError
from headgate.protocols.llm import recognise
from headgate.protocols.llm_endpoints import llm_endpoint

_PATH = "/v1/chat/completions"
_USER: JsonObject = {"role": "user", "content": "hi"}
_CHAT: JsonObject = {"model": "m", "messages": [_USER]}
_FUNCTION: JsonObject = {"name": "f", "parameters": {"properties": {"Name": {}, "name": {}}}}


@pytest.mark.parametrize(
    "body",
    [
        {**_CHAT, "Model": "dear"},
        {"Model": "m", "messages": [_USER]},
        {**_CHAT, "Messages": [{"role": "user", "content": "evil"}]},
        {**_CHAT, "Stream": True},
        {**_CHAT, "Tools": [{"type": "function", "function": _FUNCTION}]},
        {**_CHAT, "MAX_TOKENS": 1},
        {**_CHAT, "messages": [{**_USER, "Role": "tool"}]},
        {**_CHAT, "messages": [{"role": "user", "content": [{"type": "text", "Text": "x", "text": ""}]}]},
        {**_CHAT, "tools": [{"type": "function", "function": {**_FUNCTION, "Name": "pay"}}]},
        {**_CHAT, "tools": [{"type": "function", "Function": {"name": "pay"}, "function": _FUNCTION}]},
    ],
)
def test_another_spelling_is_refused(body: JsonObject) -> None:
    with pytest.raises(AmbiguousRequestError, match="the request to a language model can be read in more than one way"):
        recognise(llm_endpoint("127.0.0.1", _PATH), {}, body)


def test_gemini_whose_address_names_the_model() -> None:
    contents: JsonObject = {"contents": [{"parts": [{"text": "hi"}]}]}
    path = "/v1beta/models/g:generateContent"
    assert recognise(llm_endpoint("generativelanguage.googleapis.com", path), {}, contents) is not None
    with pytest.raises(AmbiguousRequestError):
        recognise(llm_endpoint("generativelanguage.googleapis.com", path), {}, {**contents, "Contents": []})


@pytest.mark.parametrize("name", ["Max_Length", "MAX_NEW_TOKENS"])
def test_another_spelling_of_a_limit_in_any_form_is_refused(name: str) -> None:
    path = "/hf-inference/models/google/flan-t5"
    asked: JsonObject = {"inputs": "hi", "parameters": {"max_length": 10}}
    endpoint = llm_endpoint("router.huggingface.co", path)
    assert recognise(endpoint, {}, asked) is not None
    with pytest.raises(AmbiguousRequestError, match=name):
        recognise(
            llm_endpoint("router.huggingface.co", path), {}, {**asked, "parameters": {"max_length": 10, name: 9_000}}
        )


def test_schemas_and_members_of_others_are_left() -> None:
    tools: JsonObject = {"tools": [{"type": "function", "function": _FUNCTION}], "Metadata": {"Model": 1}}
    assert recognise(llm_endpoint("127.0.0.1", _PATH), {}, {**_CHAT, **tools}) is not None


def test_an_api_without_models_is_left() -> None:
    """Another API's address may be that of compatible servers."""
    assert recognise(llm_endpoint("mail.example", "/v1/messages"), {}, {"To": "a@b.example", "Content": "hi"}) is None
