"""Which addresses are those of language models: provider, form of the body and model, by host and path.

Sources: the providers' API references (OpenAI and compatible servers, Anthropic, Gemini and Vertex AI, Azure OpenAI,
Amazon Bedrock, Cohere, Hugging Face, Ollama), as of November 2026. A path that no reference documents is no endpoint:
at another host, only the usual prefixes of compatible servers count.
"""

import re
from collections.abc import Mapping
from enum import StrEnum
from functools import lru_cache
from types import MappingProxyType
from typing import Final
from urllib.parse import unquote

from msgspec import Struct

_MODEL_CHARACTERS_MAX: Final = 256
GOOGLE: Final = "google"
BEDROCK: Final = "bedrock"


class LlmForm(StrEnum):
    """The documented form of a request; policies see it as ``input.llm.api``."""

    CHAT_COMPLETIONS = "chat_completions"
    COMPLETIONS = "completions"
    RESPONSES = "responses"
    EMBEDDINGS = "embeddings"
    MESSAGES = "messages"
    GENERATE_CONTENT = "generate_content"
    EMBED_CONTENT = "embed_content"
    CONVERSE = "converse"
    REALTIME = "realtime"
    COHERE_CHAT = "cohere_chat"
    INFERENCE = "inference"
    OLLAMA_CHAT = "ollama_chat"
    OLLAMA_GENERATE = "ollama_generate"


class LlmEndpoint(Struct, frozen=True):
    """``model`` and ``stream``: where the address says them; None where the body does."""

    provider: str
    operation: str
    form: LlmForm
    model: str | None = None
    stream: bool | None = None


_SUFFIXES: Final[Mapping[str, tuple[tuple[str, str, LlmForm], ...]]] = MappingProxyType(
    {
        "completions": (
            ("/chat/completions", "chat", LlmForm.CHAT_COMPLETIONS),
            ("/completions", "complete", LlmForm.COMPLETIONS),
        ),
        "responses": (("/responses", "respond", LlmForm.RESPONSES),),
        "input_tokens": (("/responses/input_tokens", "count_tokens", LlmForm.RESPONSES),),
        "embeddings": (("/embeddings", "embed", LlmForm.EMBEDDINGS),),
        "messages": (("/messages", "chat", LlmForm.MESSAGES),),
        "count_tokens": (("/messages/count_tokens", "count_tokens", LlmForm.MESSAGES),),
    }
)
_COHERE_HOSTS: Final = frozenset({"api.cohere.com", "api.cohere.ai"})
_COHERE_CHAT: Final = "/v2/chat"
LOOPBACK_HOSTS: Final = frozenset({"127.0.0.1", "::1", "localhost"})
"""Where Ollama's own addresses count: elsewhere ``/api/chat`` may be a message to people."""
_OLLAMA: Final[Mapping[str, tuple[str, LlmForm]]] = MappingProxyType(
    {"/api/chat": ("chat", LlmForm.OLLAMA_CHAT), "/api/generate": ("complete", LlmForm.OLLAMA_GENERATE)}
)
_HUGGING_FACE: Final[Mapping[str, re.Pattern[str]]] = MappingProxyType(
    {
        "router.huggingface.co": re.compile(r"/hf-inference/models/(?P<model>[^/]+(?:/[^/]+)?)"),
        "api-inference.huggingface.co": re.compile(r"/models/(?P<model>[^/]+(?:/[^/]+)?)"),
    }
)
_HUGGING_FACE_CHAT: Final = "/v1/chat/completions"
_HUGGING_FACE_PIPELINE: Final = re.compile(r"(?P<model>.+)/pipeline/(?P<task>[a-z-]+)")
_VECTORS: Final = frozenset({"feature-extraction", "sentence-similarity"})
"""Tasks of Hugging Face whose answer is no text."""
_PROVIDERS: Final[Mapping[str, tuple[str, frozenset[str]]]] = MappingProxyType(
    {
        "api.openai.com": ("openai", frozenset({"/v1"})),
        "eu.api.openai.com": ("openai", frozenset({"/v1"})),
        "us.api.openai.com": ("openai", frozenset({"/v1"})),
        "chatgpt.com": ("openai", frozenset({"/backend-api/codex"})),
        "api.anthropic.com": ("anthropic", frozenset({"/v1"})),
        "api.mistral.ai": ("mistral", frozenset({"/v1", "/v1/fim"})),
        "api.groq.com": ("groq", frozenset({"/openai/v1"})),
        "openrouter.ai": ("openrouter", frozenset({"/api/v1"})),
        "generativelanguage.googleapis.com": (GOOGLE, frozenset({"/v1beta/openai"})),
        "api.x.ai": ("xai", frozenset({"/v1"})),
        "api.deepseek.com": ("deepseek", frozenset({"", "/v1", "/beta", "/anthropic/v1"})),
        "api.together.xyz": ("together", frozenset({"/v1"})),
        "api.together.ai": ("together", frozenset({"/v1"})),
        "api.fireworks.ai": ("fireworks", frozenset({"/inference/v1"})),
        "api.cerebras.ai": ("cerebras", frozenset({"/v1"})),
        "integrate.api.nvidia.com": ("nvidia", frozenset({"/v1"})),
        "api.cohere.com": ("cohere", frozenset({"/compatibility/v1"})),
        "api.cohere.ai": ("cohere", frozenset({"/compatibility/v1"})),
        "api.voyageai.com": ("voyage", frozenset({"/v1"})),
        "api.jina.ai": ("jina", frozenset({"/v1"})),
        "router.huggingface.co": ("huggingface", frozenset({"/v1"})),
        "api-inference.huggingface.co": ("huggingface", frozenset()),
    }
)
_COMPATIBLE: Final = ("compatible", frozenset({"/v1", "/api/v1", "/openai/v1"}))
_AZURE_HOST: Final = re.compile(r"[a-z0-9-]+\.(?:openai|cognitiveservices|services\.ai)\.azure\.com")
_AZURE_PREFIXES: Final = frozenset({"/openai", "/openai/v1", "/models", "/anthropic/v1"})
_AZURE_DEPLOYMENT: Final = re.compile(r"/openai/deployments/([^/]+)")
_VERTEX_HOST: Final = re.compile(r"(?:[a-z0-9-]+-)?aiplatform\.googleapis\.com")
_VERTEX_PREFIX: Final = r"/v1(?:beta1)?/projects/[^/]+/locations/[^/]+"
_VERTEX_PATH: Final = re.compile(
    _VERTEX_PREFIX + r"/(?:publishers/[^/]+/models|endpoints)/(?P<model>[^/:]+):(?P<verb>[A-Za-z]+)"
)
_RAW_PATH: Final = re.compile(
    _VERTEX_PREFIX + r"/publishers/(?P<publisher>[^/]+)/models/(?P<model>[^/:]+):(?P<verb>rawPredict|streamRawPredict)"
)
_VERTEX_OPENAI: Final = re.compile(_VERTEX_PREFIX + r"/endpoints/openapi")
_GEMINI_PATH: Final = re.compile(r"/v1(?:alpha|beta)?/(?:models|tunedModels)/(?P<model>[^/:]+):(?P<verb>[A-Za-z]+)")
_GEMINI_VERBS: Final[Mapping[str, tuple[str, LlmForm, bool]]] = MappingProxyType(
    {
        "generateContent": ("chat", LlmForm.GENERATE_CONTENT, False),
        "streamGenerateContent": ("chat", LlmForm.GENERATE_CONTENT, True),
        "countTokens": ("count_tokens", LlmForm.GENERATE_CONTENT, False),
        "embedContent": ("embed", LlmForm.EMBED_CONTENT, False),
    }
)
_SOCKETS: Final[Mapping[str, LlmForm]] = MappingProxyType(
    {"/v1/responses": LlmForm.RESPONSES, "/v1/realtime": LlmForm.REALTIME}
)
_SOCKETS_OF_OPENAI: Final[Mapping[str, Mapping[str, LlmForm]]] = MappingProxyType(
    {
        "api.openai.com": _SOCKETS,
        "eu.api.openai.com": _SOCKETS,
        "us.api.openai.com": _SOCKETS,
        "chatgpt.com": MappingProxyType({"/backend-api/codex/responses": LlmForm.RESPONSES}),
    }
)
_SOCKETS_OF_AZURE: Final[Mapping[str, LlmForm]] = MappingProxyType(
    {
        "/openai/v1/responses": LlmForm.RESPONSES,
        "/openai/v1/realtime": LlmForm.REALTIME,
        "/openai/realtime": LlmForm.REALTIME,
    }
)
_BEDROCK_HOST: Final = re.compile(r"bedrock-runtime(?:-fips)?\.[a-z]{2}(?:-[a-z]+)+-[0-9]\.amazonaws\.com")
_BEDROCK_PATH: Final = re.compile(r"/model/([^/]+)/(converse|converse-stream|invoke|invoke-with-response-stream)")
_BEDROCK_OPERATIONS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "converse": "Converse",
        "converse-stream": "ConverseStream",
        "invoke": "InvokeModel",
        "invoke-with-response-stream": "InvokeModelWithResponseStream",
    }
)
_BEDROCK_ARN: Final = re.compile(r"/model/arn(?::|%3[Aa])[^/]+/[a-z-]+")


@lru_cache(maxsize=4096)
def is_provider(host: str) -> bool:
    """Whether the host is a known provider's, whatever the path. Bounded, as agents choose the hosts."""
    shapes = (_AZURE_HOST, _VERTEX_HOST, _BEDROCK_HOST)
    return host in _PROVIDERS or any(shape.fullmatch(host) is not None for shape in shapes)


def llm_endpoint(host: str, path: str) -> LlmEndpoint | None:
    """``host`` and ``path`` normalised. None where the address is not one of a language model."""
    if host in _HUGGING_FACE:
        endpoint = _hugging_face(host, path)
        if endpoint is not None:
            return endpoint
    last = path[path.rfind("/") + 1 :]
    suffixes = _SUFFIXES.get(last)
    if suffixes is not None:
        return _by_suffix(host, path, suffixes)
    if path in _OLLAMA and host in LOOPBACK_HOSTS:
        operation, form = _OLLAMA[path]
        return LlmEndpoint(_COMPATIBLE[0], operation, form)
    if path == _COHERE_CHAT and host in _COHERE_HOSTS:
        return LlmEndpoint("cohere", "chat", LlmForm.COHERE_CHAT)
    if ":" in last:
        return _gemini(host, path)
    return _bedrock(host, path) if path.startswith("/model/") else None


def llm_socket(host: str, path: str) -> tuple[str, LlmForm] | None:
    """Provider and form, where the address is one of a language model that is asked over a WebSocket."""
    if _AZURE_HOST.fullmatch(host) is not None:
        provider, paths = "azure", _SOCKETS_OF_AZURE
    elif host in _SOCKETS_OF_OPENAI:
        provider, paths = "openai", _SOCKETS_OF_OPENAI[host]
    elif is_provider(host):
        return None
    else:
        provider, paths = _COMPATIBLE[0], _SOCKETS
    form = paths.get(path)
    return None if form is None else (provider, form)


def _by_suffix(host: str, path: str, suffixes: tuple[tuple[str, str, LlmForm], ...]) -> LlmEndpoint | None:
    for suffix, operation, form in suffixes:
        if not path.endswith(suffix):
            continue
        prefix = path[: -len(suffix)]
        if _AZURE_HOST.fullmatch(host) is not None:
            deployment = _AZURE_DEPLOYMENT.fullmatch(prefix)
            if deployment is not None:
                return _named("azure", operation, form, deployment[1], stream=None)
            provider, prefixes = "azure", _AZURE_PREFIXES
        elif _BEDROCK_HOST.fullmatch(host) is not None:
            provider, prefixes = BEDROCK, frozenset({"/openai/v1"})
        elif _VERTEX_HOST.fullmatch(host) is not None:
            return LlmEndpoint(GOOGLE, operation, form) if _VERTEX_OPENAI.fullmatch(prefix) is not None else None
        else:
            provider, prefixes = _PROVIDERS.get(host, _COMPATIBLE)
        if prefix in prefixes:
            return LlmEndpoint(provider, operation, form)
    return None


def _gemini(host: str, path: str) -> LlmEndpoint | None:
    vertex = _VERTEX_HOST.fullmatch(host) is not None
    raw = _RAW_PATH.fullmatch(path) if vertex else None
    if raw is not None:
        # Publishers choose the form: Anthropic its own, Mistral and others that of chat completions.
        form = LlmForm.MESSAGES if raw["publisher"] == "anthropic" else LlmForm.CHAT_COMPLETIONS
        return _named(GOOGLE, "chat", form, raw["model"], stream=raw["verb"] == "streamRawPredict")
    match = (_VERTEX_PATH if vertex else _GEMINI_PATH).fullmatch(path)
    verb = None if match is None else _GEMINI_VERBS.get(match["verb"])
    if match is None or verb is None:
        return None
    provider = GOOGLE if vertex or host in _PROVIDERS else "compatible"
    return _named(provider, verb[0], verb[1], match["model"], stream=verb[2])


def _hugging_face(host: str, path: str) -> LlmEndpoint | None:
    """Models by their names in the address: completions, and tasks whose answer is a text."""
    pipeline = _HUGGING_FACE_PIPELINE.fullmatch(path)
    is_chat = path.endswith(_HUGGING_FACE_CHAT)
    address = path.removesuffix(_HUGGING_FACE_CHAT) if pipeline is None else pipeline["model"]
    match = _HUGGING_FACE[host].fullmatch(address)
    if match is None or (pipeline is not None and pipeline["task"] in _VECTORS):
        return None
    if is_chat:
        return _named("huggingface", "chat", LlmForm.CHAT_COMPLETIONS, match["model"], stream=None)
    return _named("huggingface", "complete", LlmForm.INFERENCE, match["model"], stream=None)


def _bedrock(host: str, path: str) -> LlmEndpoint | None:
    match = _BEDROCK_PATH.fullmatch(path)
    if match is None or _BEDROCK_HOST.fullmatch(host) is None:
        return None
    form = LlmForm.CONVERSE if match[2].startswith("converse") else LlmForm.MESSAGES
    return _named(BEDROCK, "chat", form, match[1], stream=match[2].endswith("-stream"))


def bedrock_operation(method: str, host: str, path: str) -> str | None:
    """As AWS calls it ("Amazon Bedrock Runtime", API reference); None where the address is none of a model."""
    match = _BEDROCK_PATH.fullmatch(path) if method == "POST" and _BEDROCK_HOST.fullmatch(host) is not None else None
    return None if match is None else _BEDROCK_OPERATIONS[match[2]]


def names_model_by_arn(host: str, path: str) -> bool:
    """Whether the path is one of Bedrock that names an inference profile by its ARN, whose slash SDKs encode: Bedrock
    reads it as a character of the name. ``path`` as it was sent."""
    return (
        path.startswith("/model/arn")
        and _BEDROCK_ARN.fullmatch(path) is not None
        and _BEDROCK_HOST.fullmatch(host) is not None
    )


def _named(provider: str, operation: str, form: LlmForm, model: str, *, stream: bool | None) -> LlmEndpoint | None:
    name = unquote(model)
    return None if len(name) > _MODEL_CHARACTERS_MAX else LlmEndpoint(provider, operation, form, name, stream)
