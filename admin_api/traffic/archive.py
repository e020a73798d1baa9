"""HTTP Archive 1.2 (http://www.softwareishard.com/blog/har-12-spec/) of captured exchanges. Only loaded in the child.

mitmproxy makes it; what it cannot know, or leaves as the format forbids, is put right here: sizes are those of
the wire, a body that was not kept is left out and said to be, and what had no answer still has each member of one.
"""

from importlib.metadata import version
from typing import Any, Final

from mitmproxy.addons.savehar import SaveHar

from admin_api.traffic.flows import flow_of

_UNKNOWN: Final = "x-unknown"


def archive_of(exchanges: list[dict[str, Any]]) -> dict[str, Any]:
    """With what the gate knows of each in ``_headgate``."""
    flows = [flow_of(one) for one in exchanges]
    made: dict[str, Any] = SaveHar().make_har(flows)
    made["log"]["creator"] = {
        "name": "Headgate",
        "version": version("headgate"),
        "comment": "masked before storage",
    }
    for entry, flow, exchange in zip(made["log"]["entries"], flows, exchanges, strict=True):
        entry["comment"] = flow.comment
        entry["_headgate"] = {name.removeprefix("headgate_"): value for name, value in flow.metadata.items()}
        _put_right(entry, exchange["document"], exchange["columns"]["omitted"])
    return made


def _put_right(entry: dict[str, Any], document: dict[str, Any], omitted: dict[str, str]) -> None:
    entry["request"]["bodySize"] = document["request"]["size_bytes"]
    for cookie in (*entry["request"]["cookies"], *entry["response"]["cookies"]):
        # A field that was masked is a name without a value.
        cookie["value"] = cookie["value"] or ""
    if (why := omitted.get("request.body")) is not None:
        posted = entry["request"].setdefault("postData", {"mimeType": _UNKNOWN, "params": [], "text": ""})
        posted["comment"] = f"not captured: {why}"
    content = entry["response"]["content"]
    answer = document["response"]
    if answer is None:
        content |= {"size": 0, "mimeType": _UNKNOWN}
        return
    entry["response"]["bodySize"] = answer["size_bytes"]
    content.pop("compression", None)
    if answer["body"] is None:
        content["size"] = answer["size_bytes"]
        del content["text"]
    if (why := omitted.get("response.body")) is not None:
        content["comment"] = f"not captured: {why}"
