"""Messages through Apprise's process to real servers: mail, ntfy, and some that behave badly."""

import asyncio
import email
import json
import re
from datetime import timedelta

import pytest
from aiosmtpd.controller import Controller

from headgate.deliveries.model import DeliveryStatus
from headgate.kernel.secrets import Secret
from headgate.notifications.apprise_process import AppriseProcess
from headgate.notifications.links import verify
from headgate.notifications.mail_invitation import queue_invitation_mail, waiting_address
from headgate.notifications.service import link_key, send_test
from headgate.organizations.change import begin_change
from headgate.organizations.destinations import parse_allowlist
from headgate.organizations.model import Role
from headgate.queue.model import RetryLater
from headgate.workflows.manage_members import invite, revoke_invitation
from tests.free_port import free_port
from tests.integration.outgoing.outage import Outage, failing_server, files_left, json_answer, open_files
from tests.integration.outgoing.receivers import Flood, answering, hang

_HERE = parse_allowlist('{"destinations":[{"host":"127.0.0.1","private":true}]}', None)


class Mailbox:
    def __init__(self) -> None:
        self.messages: list[bytes] = []
        self.recipients: list[list[str]] = []

    async def handle_DATA(self, server, session, envelope) -> str:  # noqa: N802 - aiosmtpd's name
        self.messages.append(envelope.content)
        self.recipients.append(envelope.rcpt_tos)
        return "250 OK"


@pytest.fixture
def mail_server():
    mailbox = Mailbox()
    controller = Controller(mailbox, hostname="127.0.0.1", port=0)
    controller.port = free_port()
    controller.start()
    yield mailbox, controller.port
    controller.stop()


async def _held(people, organization, hold, url: str, **channel: object):
    await people.put({"channels": {"on-call": {"kind": "apprise", "url": url, **channel}}})
    held = await hold(organization, tool="mail", risk_level="critical")
    await people.relay()
    (message,) = await people.messages()
    return held, message


async def test_a_mail_says_what_is_asked_and_its_link_is_signed_for_its_recipient(
    people, organization, hold, mail_server, superuser
) -> None:
    superuser.execute(
        "INSERT INTO users (org_id, user_id, issuer, subject, email, roles) VALUES (%s, 'usr_ada', 'i', 's', %s, %s)",
        [organization.org_id, "ada@example.com", ["approver"]],
    )
    mailbox, port = mail_server
    url = f"mailto://127.0.0.1:{port}/?from=gate@example.com&to=ada@example.com"
    held, message = await _held(people, organization, hold, url, recipient="ADA@example.com")
    await people.run(message.delivery_id)
    (done,) = await people.messages()
    assert done.status is DeliveryStatus.DELIVERED, await people.attempts(done.delivery_id)
    sent = email.message_from_bytes(mailbox.messages[0])
    text = next(
        part.get_payload(decode=True).decode() for part in sent.walk() if part.get_content_type() == "text/plain"
    )
    assert sent["Subject"] == "Approval needed: mail.send (critical risk)"
    assert "a person must look" in text
    token = re.search(r"https://gate\.example\.com/links/(\S+)", text)
    assert token is not None
    async with people.api.transaction(people.org_id) as connection:
        key = await link_key(connection, people.org_id, people.vault)
    assert key is not None
    link = verify(token[1], key)
    assert (link.approval_id, link.user_id, link.channel) == (held.approval_id, "usr_ada", "on-call")
    assert timedelta(minutes=55) < link.expires_at - people.clock() <= timedelta(hours=1)


async def test_a_message_names_the_host_of_a_call_and_nothing_that_it_carries(
    people, organization, hold, superuser
) -> None:
    await people.put({"channels": {"on-call": {"kind": "apprise", "url": "ntfy://127.0.0.1/topic"}}})
    held = await hold(organization, tool="http")
    http = {"method": "POST", "scheme": "https", "host": "api.example.com", "port": 443, "path": "/people/\0"}
    superuser.execute(
        "UPDATE actions SET request = %s WHERE action_id = %s",
        [json.dumps({"params": {"to": "ada"}, "http": http}), held.action_id],
    )
    await people.relay()
    (message,) = await people.messages()
    assert json.loads(message.payload)["call"] == "POST https://api.example.com"
    assert "/people" not in message.payload


async def test_a_private_address_that_nobody_named_is_not_connected_to(
    people, organization, hold, world, superuser
) -> None:
    superuser.execute("DELETE FROM settings WHERE org_id = %s AND name = 'allowlist'", [people.org_id])
    receiver = await world.start(answering())
    _, message = await _held(people, organization, hold, f"ntfy://localhost:{receiver.port}/topic")
    with pytest.raises(RetryLater):
        await people.run(message.delivery_id)
    (attempt,) = await people.attempts(message.delivery_id)
    assert (attempt.failure, receiver.connections) == ("blocked", 0)
    assert f"localhost port {receiver.port}" in attempt.message


async def test_a_redirect_to_a_private_address_is_not_followed_there(people, organization, hold, world) -> None:
    hidden = await world.start(answering())
    receiver = await world.start(answering(307, b"", f"Location: http://127.0.0.2:{hidden.port}/"))
    _, message = await _held(people, organization, hold, f"ntfy://127.0.0.1:{receiver.port}/topic")
    with pytest.raises(RetryLater):
        await people.run(message.delivery_id)
    (attempt,) = await people.attempts(message.delivery_id)
    assert (attempt.failure, receiver.connections, hidden.connections) == ("blocked", 1, 0)


@pytest.mark.parametrize("answer", [answering(500), hang])
async def test_a_service_that_fails_or_hangs_is_tried_again(people, organization, hold, world, answer) -> None:
    receiver = await world.start(answer)
    _, message = await _held(people, organization, hold, f"ntfy://127.0.0.1:{receiver.port}/topic")
    with pytest.raises(RetryLater):
        await people.run(message.delivery_id)
    receiver.answer = answering(200, b"{}")
    await people.run(message.delivery_id)
    assert [one.succeeded for one in await people.attempts(message.delivery_id)] == [False, True]


async def test_a_gigabyte_ends_the_sending_process_at_most(people, organization, hold, world) -> None:
    flood = Flood(1 << 30)
    receiver = await world.start(flood)
    _, message = await _held(people, organization, hold, f"ntfy://127.0.0.1:{receiver.port}/topic")
    with pytest.raises(RetryLater):
        await people.run(message.delivery_id)
    receiver.answer = answering(200, b"{}")
    await people.run(message.delivery_id)
    assert [one.succeeded for one in await people.attempts(message.delivery_id)] == [False, True]


async def test_a_process_that_is_killed_is_replaced(world) -> None:
    receiver = await world.start(hang)
    apprise = AppriseProcess(None)
    sending = asyncio.ensure_future(
        apprise.send(
            Secret(f"ntfy://127.0.0.1:{receiver.port}/topic"),
            "T",
            "B",
            _HERE,
        )
    )
    while not receiver.requests:
        await asyncio.sleep(0.01)
    assert apprise._process is not None
    apprise._process.kill()
    answer = await sending
    assert (answer.succeeded, answer.failure) == (False, "process")
    receiver.answer = answering(200, b"{}")
    again = await apprise.send(
        Secret(f"ntfy://127.0.0.1:{receiver.port}/topic"),
        "T",
        "B",
        _HERE,
    )
    assert again.succeeded
    await apprise.close()


async def test_services_that_fail_leave_no_process_and_no_file_open(mail_server) -> None:
    process = AppriseProcess(None, send_seconds=1)
    mailbox, mail_port = mail_server
    mail = "mailto://127.0.0.1:{}/?from=gate@example.com&to=ada@example.com"
    async with failing_server(json_answer(b"{}")) as server:
        url = Secret(f"json://127.0.0.1:{server.port}/")
        assert (await process.send(url, "t", "b", _HERE)).succeeded
        before = open_files()
        for outage in Outage:
            await server.fail(outage)
            failed = not (await process.send(url, "t", "b", _HERE)).succeeded
            # Half a head has a status: the library is content with that.
            assert failed == (outage not in (Outage.NONE, Outage.HALF_HEAD)), outage
            await server.fail(Outage.NONE)
            assert (await process.send(url, "t", "b", _HERE)).succeeded, outage
            assert not await files_left(before), outage
        for outage in (Outage.CONNECT_HANGS, Outage.SILENT):
            await server.fail(outage)
            silent = await process.send(Secret(mail.format(server.port)), "t", "b", _HERE)
            assert silent.failure == "deadline", outage
            await server.fail(Outage.NONE)
            assert (await process.send(Secret(mail.format(mail_port)), "t", "b", _HERE)).succeeded, outage
            assert not await files_left(before), outage
    assert len(mailbox.messages) == 2
    await process.close()


async def test_a_flood_is_told_in_one_message(people, organization, hold, world) -> None:
    receiver = await world.start(answering(200, b"{}"))
    await people.put(
        {
            "channels": {"on-call": {"kind": "apprise", "url": f"ntfy://127.0.0.1:{receiver.port}/topic"}},
            "digest": {"window_seconds": 60, "most_single": 3},
        }
    )
    for _ in range(30):
        await hold(organization)
    await people.relay()
    single = await people.messages(status=DeliveryStatus.PENDING)
    collected = await people.messages(status=DeliveryStatus.COLLECTED)
    assert (len(single), len(collected)) == (3, 27)
    critical = await hold(organization, risk_level="critical")
    await people.relay()
    assert critical.approval_id in {one.subject_id for one in await people.messages(status=DeliveryStatus.PENDING)}

    people.clock.ahead = timedelta(seconds=61)
    await people.digest("on-call")
    await people.digest("on-call")  # the queue may run it twice
    (digest,) = await people.messages(event="digest")
    await people.run(digest.delivery_id)
    body = receiver.requests[-1].decode()
    assert "27 more messages" in body
    assert "7 more: headgate approvals list" in body
    told = [one for one in await people.messages() if one.told_in == digest.delivery_id]
    assert {one.status for one in told} == {DeliveryStatus.DELIVERED}
    assert len(told) == 27
    await hold(organization)
    await people.relay()
    assert len(await people.messages(status=DeliveryStatus.COLLECTED)) == 0


async def test_what_reaches_nobody_can_be_seen(people, organization, hold) -> None:
    channel = {"kind": "apprise", "url": "ntfy://topic"}
    await people.put({"channels": {"a": channel}, "routes": [{"channels": ["a"], "tools": ["github"]}]})
    held = await hold(organization, tool="mail")
    await people.relay()
    (unheard,) = await people.messages()
    assert (unheard.target_id, unheard.status, unheard.subject_id) == (
        "nobody",
        DeliveryStatus.PARKED,
        held.approval_id,
    )


async def test_the_test_button_sends_a_message_that_services_take(people, mail_server) -> None:
    mailbox, port = mail_server
    url = f"mailto://127.0.0.1:{port}/?from=gate@example.com&to=ada@example.com"
    await people.put({"channels": {"on-call": {"kind": "apprise", "url": url}}})
    async with begin_change(people.api, people.change()) as change:
        delivery = await send_test(change, "on-call")
    await people.run(delivery.delivery_id)
    (done,) = await people.messages()
    assert done.status is DeliveryStatus.DELIVERED, await people.attempts(done.delivery_id)
    assert email.message_from_bytes(mailbox.messages[0])["Subject"] == "Headgate can reach this channel"


async def test_an_invitation_is_mailed_to_whoever_was_invited_and_to_nobody_else(
    people, mail_server, superuser
) -> None:
    mailbox, port = mail_server
    url = f"mailto://127.0.0.1:{port}/?from=gate@example.com&to=ada@example.com&cc=all@example.com"
    await people.put({"channels": {"mail": {"kind": "apprise", "url": url}}})
    address = Secret("https://gate.example.com/auth/login?invitation=good-for-once")
    async with begin_change(people.api, people.change()) as change:
        made = await invite(change, "grace@example.com", [Role.APPROVER], timedelta(hours=1))
        queued = await queue_invitation_mail(change, made.invitation, address, people.vault)
    assert queued == "mail"
    (message,) = await people.messages()
    assert "good-for-once" not in message.payload
    await people.run(message.delivery_id)
    (done,) = await people.messages()
    assert done.status is DeliveryStatus.DELIVERED, await people.attempts(done.delivery_id)
    (content,) = mailbox.messages
    sent = email.message_from_bytes(content)
    assert "grace@example.com" in sent["To"] and sent["Cc"] is None
    assert mailbox.recipients == [["grace@example.com"]]
    text = next(
        part.get_payload(decode=True).decode() for part in sent.walk() if part.get_content_type() == "text/plain"
    )
    assert address.reveal() in text
    async with people.api.transaction(people.org_id) as connection:
        assert await waiting_address(connection, people.org_id, made.invitation.invitation_id, people.vault) is None


async def test_an_invitation_that_was_taken_back_is_not_mailed(people, mail_server) -> None:
    mailbox, port = mail_server
    url = f"mailto://127.0.0.1:{port}/?from=gate@example.com&to=ada@example.com"
    await people.put({"channels": {"mail": {"kind": "apprise", "url": url}}})
    async with begin_change(people.api, people.change()) as change:
        made = await invite(change, "grace@example.com", [Role.APPROVER], timedelta(hours=1))
        await queue_invitation_mail(change, made.invitation, Secret("https://x"), people.vault)
        await revoke_invitation(change, made.invitation.invitation_id)
    (message,) = await people.messages()
    await people.run(message.delivery_id)
    assert mailbox.messages == []


async def test_without_a_channel_for_mail_nothing_is_queued(people) -> None:
    await people.put({"channels": {"push": {"kind": "apprise", "url": "ntfy://localhost/topic"}}})
    async with begin_change(people.api, people.change()) as change:
        made = await invite(change, "grace@example.com", [Role.APPROVER], timedelta(hours=1))
        assert not await queue_invitation_mail(change, made.invitation, Secret("https://x"), people.vault)
    assert await people.messages() == []
