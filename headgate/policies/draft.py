"""A draft policy, and the checks before it is stored."""

from typing import Final

from msgspec import Struct

from headgate.kernel.errors import ValidationError
from headgate.policies.compile import Libraries
from headgate.policies.model import (
    CASES_MAX_BYTES,
    DEFAULT_PRIORITY,
    DESCRIPTION_MAX_CHARACTERS,
    NAME_MAX_CHARACTERS,
    PRIORITY_MAX,
    REGO_MAX_BYTES,
    PolicyMode,
    RulePolicy,
)
from headgate.policies.trial import TrialReport, try_policy

NOTE_MAX_CHARACTERS: Final = 1000
# PostgreSQL's text type holds neither; this check names the field, which the driver would not.
_UNSTORABLE: Final = frozenset("\0") | frozenset(map(chr, range(0xD800, 0xE000)))


class PolicyDraft(Struct, frozen=True):
    """The specification's create body, the mode, and the source of the Rego if it came from the camelCase shape."""

    name: str
    rego_policy: str
    description: str | None = None
    enabled: bool = True
    priority: int = DEFAULT_PRIORITY
    mode: PolicyMode = PolicyMode.ENFORCE
    rules: str | None = None
    cases: str | None = None
    """Test cases, a canonical JSON array. None: none for a new policy; those of before for one that is replaced."""


def draft_of(policy: RulePolicy) -> PolicyDraft:
    """The draft of a new policy."""
    return PolicyDraft(
        policy.name,
        policy.rego_policy,
        policy.description,
        policy.enabled,
        policy.priority,
        policy.mode,
        policy.rules,
        policy.cases,
    )


class CheckedPolicy(Struct, frozen=True):
    """A draft that compiled and passed its trial; only such a draft can be stored."""

    draft: PolicyDraft
    data: bytes
    warnings: tuple[str, ...]
    libraries: Libraries = ()


async def check_policy(draft: PolicyDraft, data: bytes, libraries: Libraries = ()) -> CheckedPolicy:
    """Checks limits, compiles, and tries the policy in a child. Takes a fraction of a second: hold no transaction
    meanwhile.

    ``data`` and ``libraries``: the organization's. Raises ValidationError, for bad Rego with file, line, column and the
    source line as ``details``.
    """
    check_limits(draft)
    return checked_by(await try_policy(draft.rego_policy, data, libraries), draft, data, libraries)


def checked_by(report: TrialReport, draft: PolicyDraft, data: bytes, libraries: Libraries) -> CheckedPolicy:
    """A draft within its limits, whose trial made ``report``."""
    return CheckedPolicy(draft, data, report.warnings, libraries)


def check_limits(draft: PolicyDraft) -> None:
    """Checks that need no Rego. Raises ValidationError."""
    check("name", 1 <= len(draft.name) <= NAME_MAX_CHARACTERS, f"1 to {NAME_MAX_CHARACTERS} characters")
    check(
        "description",
        draft.description is None or len(draft.description) <= DESCRIPTION_MAX_CHARACTERS,
        f"at most {DESCRIPTION_MAX_CHARACTERS} characters",
    )
    check("priority", 0 <= draft.priority <= PRIORITY_MAX, f"a whole number from 0 to {PRIORITY_MAX}")
    check("rego_policy", bool(draft.rego_policy.strip()), "a Rego policy is required")
    check(
        "rego_policy",
        len(draft.rego_policy.encode(errors="surrogatepass")) <= REGO_MAX_BYTES,
        f"at most {REGO_MAX_BYTES} bytes",
    )
    check(
        "cases",
        len((draft.cases or "").encode(errors="surrogatepass")) <= CASES_MAX_BYTES,
        f"at most {CASES_MAX_BYTES} bytes of JSON",
    )
    check("cases", "\\u0000" not in (draft.cases or ""), "text without NUL")
    for field, text in (("name", draft.name), ("description", draft.description), ("rego_policy", draft.rego_policy)):
        check_storable(field, text)


def check_note(note: str | None) -> None:
    """Raises ValidationError."""
    check("change_note", note is None or len(note) <= NOTE_MAX_CHARACTERS, f"at most {NOTE_MAX_CHARACTERS} characters")
    check_storable("change_note", note)


def check_storable(field: str, text: str | None) -> None:
    check(field, text is None or not _UNSTORABLE & set(text), "text without NUL and lone surrogates")


def check(field: str, holds: bool, expected: str) -> None:
    """Raises ValidationError if the condition is false."""
    if not holds:
        raise ValidationError(f"{field} must be {expected}", details={"field": field, "reason": f"must be {expected}"})
