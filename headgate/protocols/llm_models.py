"""Reads the models that may answer a request: the named one, and its fallbacks.

Sources: OpenRouter's guide "Model Fallbacks" (``models``, and ``fallbacks`` of its messages), as of November 2026.
Other servers ignore these members. Pure.
"""

from typing import Final, TypeGuard

from headgate.kernel.canonical_json import JsonObject, JsonValue

MODELS_MAX: Final = 64
MODEL_CHARACTERS_MAX: Final = 256


def named_models(body: JsonObject, model: str | None) -> tuple[str, ...] | None:
    """Each model once, in the order in which they are asked. ``model``: the name in the address. None: the request
    names no model, more than 64, or one that is not a text of 1 to 256 characters. Raises nothing."""
    found: list[JsonValue] = [body.get("model") if model is None else model]
    others = body.get("models")
    fallbacks = body.get("fallbacks")
    for several in (others, fallbacks):
        if several is not None and not isinstance(several, list):
            return None
    found += others if isinstance(others, list) else []
    for one in fallbacks if isinstance(fallbacks, list) else []:
        found.append(one.get("model") if isinstance(one, dict) else one)
    if found[0] is None:
        del found[0]
    names = dict.fromkeys(one for one in found if is_model_name(one))
    is_read = all(is_model_name(one) for one in found) and 0 < len(names) <= MODELS_MAX
    return tuple(names) if is_read else None


def is_model_name(value: JsonValue) -> TypeGuard[str]:
    return isinstance(value, str) and 0 < len(value) <= MODEL_CHARACTERS_MAX
