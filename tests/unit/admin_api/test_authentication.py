import pytest

from admin_api.access import Audience
from admin_api.authentication import credential_of
from headgate.kernel.errors import UnauthorizedError

KEY, BEARER = (b"x-agent-key", b"hg_abc"), (b"authorization", b"Bearer eyJ.a.b")
OTHER = (b"x-agent-id", b"agt_1")
AGENTS, ADMINISTRATORS = Audience.AGENTS, Audience.ADMINISTRATORS


@pytest.mark.parametrize(
    ("audience", "headers", "expected"),
    [
        (AGENTS, [OTHER, KEY], ("hg_abc", True)),
        (AGENTS, [BEARER], ("eyJ.a.b", False)),
        (AGENTS, [(b"authorization", b"bearer hg_abc")], ("hg_abc", True)),
        (AGENTS, [KEY, BEARER], ("hg_abc", True)),
        (ADMINISTRATORS, [BEARER], ("eyJ.a.b", False)),
        (ADMINISTRATORS, [KEY], ("hg_abc", True)),
        (ADMINISTRATORS, [(b"authorization", b"BEARER  hg_abc ")], ("hg_abc", True)),
        (ADMINISTRATORS, [KEY, BEARER], ("eyJ.a.b", False)),
    ],
)
def test_one_credential(audience: Audience, headers: list[tuple[bytes, bytes]], expected: tuple[str, bool]) -> None:
    credential = credential_of(headers, audience)
    assert (credential.secret.reveal(), credential.is_key) == expected


@pytest.mark.parametrize(
    ("audience", "headers", "message"),
    [
        (AGENTS, [], "X-Agent-Key"),
        (AGENTS, [OTHER], "One credential"),
        (AGENTS, [KEY, KEY], "each header once"),
        (AGENTS, [KEY, KEY, BEARER], "each header once"),
        (AGENTS, [BEARER, BEARER], "each header once"),
        (ADMINISTRATORS, [KEY, KEY, BEARER], "each header once"),
        (ADMINISTRATORS, [], "Authorization"),
        (ADMINISTRATORS, [(b"authorization", b"Basic YTpi")], "Bearer"),
        (ADMINISTRATORS, [(b"authorization", b"Bearer ")], "Bearer"),
        (ADMINISTRATORS, [(b"authorization", b"eyJ.a.b")], "Bearer"),
    ],
)
def test_none_or_several(audience: Audience, headers: list[tuple[bytes, bytes]], message: str) -> None:
    with pytest.raises(UnauthorizedError, match=message):
        credential_of(headers, audience)
