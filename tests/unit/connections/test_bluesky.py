"""What a service answers in place of a token is no token."""

import json

import pytest

from headgate.connections.bluesky import create_session
from headgate.connections.oauth import TokenUnavailableError
from headgate.kernel.clock import system_clock
from headgate.kernel.secrets import Secret
from headgate.outgoing.model import OutgoingRequest, OutgoingResponse


@pytest.mark.parametrize("member", ["accessJwt", "refreshJwt"])
@pytest.mark.parametrize(
    "token", ["abcdefgh\r\nX-Other: 1\r\n\r\nGET /undecided HTTP/1.1", "short", "abcdefgh\u0100", ""]
)
async def test_what_cannot_stand_in_a_header_or_be_masked_is_not_taken(member: str, token: str) -> None:
    session = {"accessJwt": "abcdefghi", "refreshJwt": "abcdefghi", "did": "did:plc:x", "handle": "robot.test"}

    async def send(_: OutgoingRequest) -> OutgoingResponse:
        body = json.dumps(session | {member: token}).encode()
        return OutgoingResponse(200, (("content-type", "application/json"),), body, False, 1.0)

    with pytest.raises(TokenUnavailableError):
        await create_session("https://pds.example", "robot.test", Secret("abcd-efgh"), send, system_clock)
