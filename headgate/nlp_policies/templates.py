"""Ready-made policies (``config/nlp_templates``), with the cases that say what each of them finds."""

from functools import cache
from typing import Final

from msgspec import Struct

from headgate.configuration.resources import resource_path
from headgate.configuration.yaml_document import Section, read_document
from headgate.nlp_policies.model import Direction, NlpDraft, NlpPolicyType, OnMatch, Outcome, Scope
from headgate.policies.model import Verdict

SEEDED_PROFILE: Final = "balanced"
"""The profile of a new organization."""


class Case(Struct, frozen=True):
    content: str
    expected: Outcome


class Template(Struct, frozen=True):
    """``model`` is empty where one of the user's own has to be named. ``profiles``: sets that it belongs to, each
    enabled as one (``headgate policy enable``)."""

    template_id: str
    type: NlpPolicyType
    name: str
    description: str
    provider: str
    model: str
    threshold: float
    prompt: str | None
    on_match: OnMatch
    on_error: Verdict
    on_unscannable: Verdict | None
    scope: Scope
    profiles: tuple[str, ...]
    cases: tuple[Case, ...]


def draft_of_template(template: Template) -> NlpDraft:
    return NlpDraft(
        name=template.name,
        type=template.type,
        provider=template.provider,
        model=template.model,
        description=template.description,
        threshold=template.threshold,
        prompt=template.prompt,
        scope=template.scope,
        on_match=template.on_match,
        on_error=template.on_error,
        on_unscannable=template.on_unscannable,
    )


@cache
def templates() -> tuple[Template, ...]:
    """Raises ValidationError for a file that cannot be used."""
    found: list[Template] = []
    for kind in NlpPolicyType:
        document = read_document(resource_path("nlp_templates", f"{kind.value}.yaml"))
        document.only("templates")
        found += [_template(kind, section) for section in document.sections("templates")]
    return tuple(found)


def _template(kind: NlpPolicyType, section: Section) -> Template:
    section.only(
        "id", "name", "description", "provider", "model", "threshold", "prompt", "on_match", "cases",
        "on_error", "on_unscannable", "direction", "except_headers", "except_tools", "kinds", "profiles",
    )  # fmt: skip
    threshold = section.members.get("threshold")
    if not isinstance(threshold, float):
        raise section.fail("threshold", "a number between 0 and 1 is required")
    model = section.members.get("model")
    return Template(
        template_id=section.text("id"),
        type=kind,
        name=section.text("name"),
        description=section.text("description"),
        provider=section.text("provider"),
        model=model if isinstance(model, str) else "",
        threshold=threshold,
        prompt=section.text("prompt") if "prompt" in section.members else None,
        on_match=OnMatch(section.text("on_match")),
        on_error=Verdict(section.text("on_error", Verdict.REQUIRE_APPROVAL)),
        on_unscannable=Verdict(section.text("on_unscannable")) if "on_unscannable" in section.members else None,
        scope=Scope(
            direction=Direction(section.text("direction", Direction.REQUEST)),
            except_headers=tuple(section.strings("except_headers")),
            except_tools=tuple(section.strings("except_tools")),
            kinds=tuple(section.strings("kinds")),
        ),
        profiles=tuple(section.strings("profiles")),
        cases=tuple(Case(one.text("content"), Outcome(one.text("expected"))) for one in section.sections("cases")),
    )
