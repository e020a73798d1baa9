"""What the doctor finds, and says in plain words."""

import json
import os
import socket
from contextlib import AbstractContextManager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding
from msgspec.structs import replace

from headgate.audit import count_refusals
from headgate.cli.diagnosis import (
    CERTIFICATE_REFUSED,
    check_api,
    check_certificate,
    check_parts,
    check_proxy,
    check_refused_certificates,
    check_shell,
    check_variables,
    check_warnings,
)
from headgate.cli.finding import Verdict
from headgate.kernel.pem import certificates_in
from headgate.kernel.secrets import Secret
from headgate.runtime.runtime_file import RuntimeInformation
from proxy.authority import LIFETIME, Authority
from tests.http_server import http_server

NOBODY = Secret("")
NOWHERE = Path("/nowhere")
INSTANCE = RuntimeInformation("", "http://127.0.0.1:9", "", "", NOBODY, Secret("t"), "", NOBODY, NOBODY, {})


def answering(status: int, body: object) -> AbstractContextManager[str]:
    """A service that answers everything with this."""
    return http_server(lambda path, sent: (status, "application/json", json.dumps(body).encode()))


def _server_certificate() -> bytes:
    key, name = ec.generate_private_key(ec.SECP256R1()), x509.Name([])
    builder = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
    now = datetime.now(UTC)
    builder = builder.serial_number(1).not_valid_before(now).not_valid_after(now + LIFETIME)
    builder = builder.add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
    return builder.sign(key, hashes.SHA256()).public_bytes(Encoding.PEM)


def _closed_port() -> str:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{probe.getsockname()[1]}"


def test_a_typing_error_in_a_variable_is_guessed() -> None:
    findings = list(check_variables({"HEADGATE_PROXY_WORKER": "2", "HEADGATE_PORT": "tcp://10.0.0.1", "PATH": "/bin"}))
    assert findings[0].verdict is Verdict.OK
    assert any("did you mean HEADGATE_PROXY_WORKERS?" in finding.text for finding in findings)
    assert all(finding.verdict is Verdict.NOTE for finding in findings[1:])


def test_a_setting_that_cannot_be_read_is_wrong() -> None:
    [finding] = check_variables({"HEADGATE_API_PORT": "x"})
    assert finding.verdict is Verdict.WRONG
    assert "HEADGATE_API_PORT" in finding.text


def test_a_part_that_is_gone_is_wrong() -> None:
    pids = {"api": (os.getpid(),), "worker": (2**22 + 1,), "valkey": ()}
    verdicts = [finding.verdict for finding in check_parts(replace(INSTANCE, pids=pids))]
    assert verdicts == [Verdict.OK, Verdict.WRONG]


def test_an_instance_that_was_killed_is_one_finding() -> None:
    pids = {"api": (2**22 + 1,), "proxy": (2**22 + 2, 2**22 + 3), "valkey": ()}
    (finding,) = check_parts(replace(INSTANCE, pids=pids))
    assert (finding.verdict, "headgate up" in finding.text) == (Verdict.WRONG, True)


@pytest.mark.parametrize(
    ("status", "body", "verdict", "says"),
    [
        (200, {"data": []}, Verdict.OK, "answers"),
        (200, [], Verdict.WRONG, "Is this the address of Headgate's API?"),
        (
            401,
            {"error": {"code": "UNAUTHORIZED", "message": "expired"}},
            Verdict.WRONG,
            "valid for one day",
        ),
        (
            401,
            {"error": {"code": "UNAUTHORIZED", "message": "Invalid credential."}},
            Verdict.WRONG,
            "Invalid credential. Tokens are valid",
        ),
        (500, "oops", Verdict.WRONG, "answered 500"),
    ],
)
def test_the_api(status: int, body: object, verdict: Verdict, says: str) -> None:
    with answering(status, body) as url:
        finding = check_api(replace(INSTANCE, api_url=url))
    assert finding.verdict is verdict
    assert says in finding.text


def test_an_api_that_is_not_there() -> None:
    finding = check_api(replace(INSTANCE, api_url=_closed_port()))
    assert finding.verdict is Verdict.WRONG
    assert "does not answer" in finding.text


@pytest.mark.parametrize(("status", "verdict"), [(407, Verdict.OK), (200, Verdict.WRONG)])
def test_a_proxy_must_ask_for_a_key(status: int, verdict: Verdict) -> None:
    with answering(status, {}) as url:
        assert check_proxy(url, NOWHERE).verdict is verdict


def test_a_proxy_that_is_not_there() -> None:
    assert check_proxy(_closed_port(), NOWHERE).verdict is Verdict.WRONG


def test_a_certificate_that_ends_soon(tmp_path: Path) -> None:
    now = datetime.now(UTC)
    authority = Authority(tmp_path / "ca", tmp_path / "public")
    authority.open(now)
    assert check_certificate(authority.certificate_file, now).verdict is Verdict.OK
    soon = now + LIFETIME - timedelta(days=10)
    assert "headgate ca rotate" in check_certificate(authority.certificate_file, soon).text
    assert check_certificate(tmp_path / "none.pem", now).verdict is Verdict.WRONG


def test_the_end_of_a_certificate_is_that_of_the_current_authority(tmp_path: Path) -> None:
    """After a rotation the file holds the old certificate, too."""
    made, rotated = datetime(2026, 1, 5, 12, tzinfo=UTC), datetime(2026, 6, 7, 12, tzinfo=UTC)
    authority = Authority(tmp_path / "ca", tmp_path / "public")
    authority.open(made)
    current = authority.rotate(rotated)
    file = authority.certificate_file
    assert len(certificates_in(file.read_bytes())) == 2
    assert check_certificate(file, rotated).text.endswith(f"until {current.not_after.date()}")


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "no certificate"),
        (b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", "does not contain a certificate"),
        (_server_certificate(), "not the certificate of an authority"),
    ],
    ids=["empty", "garbage", "of a server"],
)
def test_a_file_without_an_authority(tmp_path: Path, content: bytes, reason: str) -> None:
    (tmp_path / "ca.pem").write_bytes(content)
    finding = check_certificate(tmp_path / "ca.pem", datetime.now(UTC))
    assert finding.verdict is Verdict.WRONG
    assert "cannot be read" in finding.text
    assert reason in finding.text


@pytest.mark.parametrize(
    ("environment", "verdict"),
    [
        ({}, Verdict.NOTE),
        ({"HTTPS_PROXY": "http://agent:k@other:1"}, Verdict.NOTE),
        ({"https_proxy": "http://agent:k@127.0.0.1:9"}, Verdict.OK),
    ],
)
def test_this_shell(environment: dict[str, str], verdict: Verdict) -> None:
    assert check_shell(INSTANCE.proxy_url, environment).verdict is verdict


def test_this_shell_is_told_a_command_that_can_be_typed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    command = tmp_path / "headgate"
    command.touch()
    monkeypatch.setattr("sys.argv", [str(command), "doctor"])
    assert f'eval "$({command} env)"' in check_shell(INSTANCE.proxy_url, {}).text


def test_clients_that_refuse_the_certificate() -> None:
    assert CERTIFICATE_REFUSED == count_refusals.CERTIFICATE_REFUSED
    reason = "client does not accept Headgate's certificate (the alert unknown ca): …"

    def event(code: str, *hosts: str) -> dict[str, object]:
        calls = [{"method": "CONNECT", "host": host, "port": 443, "reason": reason} for host in hosts]
        return {
            "data": {"code": code, "count": 1, "calls": calls},
            "actor": {"id": "agt_1", "name": "Robot"},
            "agent_id": "agt_1",
        }

    events = [event("CERTIFICATE_REFUSED", "api.example.com"), event("RATE_LIMITED", "other.example.com")]
    erased = {"data": {}, "actor": None, "agent_id": "agt_2"}
    with answering(200, {"data": [*events, *events, erased], "pagination": {}}) as url:
        [finding] = check_refused_certificates(replace(INSTANCE, api_url=url), datetime.now(UTC))
    assert finding.verdict is Verdict.NOTE
    assert finding.text.startswith(f"Robot: api.example.com port 443: {reason} (docs/guides/clients.md#")
    many = event("CERTIFICATE_REFUSED", *(f"{number}.example.com" for number in range(7)))
    with answering(200, {"data": [many], "pagination": {}}) as url:
        *_, last = check_refused_certificates(replace(INSTANCE, api_url=url), datetime.now(UTC))
    assert last.text == "2 more: headgate audit list --type request.refused"
    assert list(check_refused_certificates(replace(INSTANCE, api_url=_closed_port()), datetime.now(UTC))) == []


def test_master_keys_that_the_api_cannot_use_are_wrong() -> None:
    with answering(200, {"status": "degraded", "parts": {"vault": "unavailable"}}) as url:
        [finding] = check_warnings(replace(INSTANCE, api_url=url))
    assert (finding.verdict, "headgate secrets status" in finding.text) == (Verdict.WRONG, True)


def test_what_the_api_has_noticed_is_a_note() -> None:
    with answering(200, {"status": "ok", "warnings": ["X-Forwarded-For came from 10.0.0.9"]}) as url:
        [finding] = check_warnings(replace(INSTANCE, api_url=url))
        assert (finding.verdict, finding.text) == (Verdict.NOTE, "X-Forwarded-For came from 10.0.0.9")
    for body in ({"status": "ok"}, {"status": "ok", "warnings": None}):  # another version, another person's token
        with answering(200, body) as url:
            assert list(check_warnings(replace(INSTANCE, api_url=url))) == []
    assert list(check_warnings(replace(INSTANCE, api_url=_closed_port()))) == []
