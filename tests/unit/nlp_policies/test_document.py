"""What is stored is what was said."""

from hypothesis import given
from hypothesis import strategies as st

from headgate.nlp_policies.document import draft_of, stored_text
from headgate.nlp_policies.model import Direction, NlpDraft, NlpPolicyType, OnMatch, Scope, strictest
from headgate.policies.model import Verdict

_TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
_NAMES = st.lists(_TEXT, max_size=3).map(tuple)
_STRICT = st.sampled_from([Verdict.DENY, Verdict.REQUIRE_APPROVAL])


@given(
    st.builds(
        NlpDraft,
        name=_TEXT,
        type=st.sampled_from(NlpPolicyType),
        provider=_TEXT,
        model=st.none() | _TEXT,
        description=st.none() | _TEXT,
        threshold=st.floats(0, 1),
        enabled=st.booleans(),
        prompt=st.none() | _TEXT,
        scope=st.builds(Scope, _NAMES, _NAMES, _NAMES, st.sampled_from(Direction), _NAMES),
        on_match=st.sampled_from(OnMatch),
        on_error=_STRICT,
        on_unscannable=st.none() | st.sampled_from(Verdict),
        daily_limit=st.integers(1, 10**7),
    )
)
def test_a_draft_survives_being_stored(draft: NlpDraft) -> None:
    assert draft_of(stored_text(draft)) == draft


def test_a_scope_covers_what_it_names_and_all_where_it_names_nothing() -> None:
    call = {"tool": "github", "operation": "delete", "agent_id": "agt_1"}

    assert Scope().covers(**call, direction=Direction.REQUEST)
    assert not Scope().covers(**call, direction=Direction.RESPONSE)
    assert Scope(direction=Direction.BOTH).covers(**call, direction=Direction.RESPONSE)
    assert Scope(("github",), ("delete",), ("agt_1",)).covers(**call, direction=Direction.REQUEST)
    assert not Scope(("slack",)).covers(**call, direction=Direction.REQUEST)
    assert not Scope((), ("read",)).covers(**call, direction=Direction.REQUEST)
    assert not Scope((), (), ("agt_2",)).covers(**call, direction=Direction.REQUEST)


def test_the_strictest_wins() -> None:
    assert strictest([Verdict.ALLOW, Verdict.DENY, Verdict.REQUIRE_APPROVAL]) is Verdict.DENY
    assert strictest([Verdict.ALLOW, Verdict.REQUIRE_APPROVAL]) is Verdict.REQUIRE_APPROVAL
