"""Passwords without a name of their own, hashes of them, stores of keys, and what is hidden between letters."""

import base64
import random

import pytest

from headgate.detectors.assess import EmbeddedModel, assess
from headgate.kernel.canonical_json import JsonValue

_THRESHOLD = 0.6
_CHANCE = random.Random(7)  # noqa: S311 - the same values each time
_PASSWORD = "Copper#meadow3147"
_ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"


def _letters(count: int) -> str:
    return "".join(_CHANCE.choice(_ALPHABET) for _ in range(count))


def _digits(count: int) -> str:
    return _CHANCE.randbytes(count // 2).hex()


def _spread(text: str, between: str = "\u200b") -> str:
    return between.join(text)


_PKCS12 = base64.b64encode(bytes([0x30, 0x82, 0x0A, 0x3C, 2, 1, 3, 0x30, 0x82]) + _CHANCE.randbytes(300)).decode()
_JKS = base64.b64encode(bytes.fromhex("feedfeed00000002") + _CHANCE.randbytes(300)).decode()

_KEY = base64.b64encode(b"-----BEGIN RSA PRIVATE KEY-----" + _CHANCE.randbytes(60)).decode()


@pytest.mark.parametrize(
    "value",
    [
        {"t": f"root:$6${_letters(8)}${_letters(86)}:20011:0:90:7:::\nbin:*:19990:0:90:7:::"},
        {"t": f"svc:$y$j9T${_letters(22)}${_letters(43)}:20012:0:90:7:::"},
        {"t": f"Administrator:500:aad3b435b51404eeaad3b435b51404ee:{_digits(32)}:::"},
        {"t": f"$krb5tgs$23$*svc$CORP.LOCAL$corp/svc*${_digits(32)}${_digits(200)}"},
        {"t": "insert " + ",".join(f"({at},'u{at}@x.example','$2y$10${_letters(53)}')" for at in range(3))},
        {"data": _PKCS12},
        {"file": "x " + _JKS},
        {"d": f"Zugangsdaten für alle:\n\nDATEV: kanzlei-admin / {_PASSWORD}\n"},
        {"d": f"Here are the credentials\nMSSQL: sa | {_PASSWORD}\n"},
        {"d": f"Identifiants serveur\nERP : admin / {_PASSWORD}"},
        {"d": f"<AutoLogon><Username>root</Username><Password><Value>{_PASSWORD}</Value></Password></AutoLogon>"},
        {"d": f"<dict><key>Password</key><string>{_PASSWORD}</string></dict>"},
        {"d": f"<member><name>password</name><value><string>{_PASSWORD}</string></value></member>"},
        {"d": f"LAPS: {_PASSWORD}"},
        {"d": f"VPN PSK: {_digits(40)}"},
        {"d": "Lovely stay. " + _spread(f"admin {_PASSWORD} api {_digits(40)}") + " Bye."},
        {"d": _spread(_PASSWORD, "\u2060")},
        {"d": _spread(_letters(24), "\ufeff")},
        {"d": f"db.internal:5432:orders:app:{_PASSWORD}"},
        {"d": f"[Interface]\nPrivateKey = {base64.b64encode(_CHANCE.randbytes(32)).decode()}\nAddress = 10.0.0.2/24"},
        {"d": f'"encryptedPassword":"MDoEEPgAAAAAAAAAAAAAAAAAAAEwFAYIKoZIhvcNAwcECM{_letters(30)}"'},
        {"d": f"ssh root@10.0.0.4 pw {_PASSWORD}"},
        {"d": f"username: admin\npassword: {_PASSWORD}"},
        {"d": f"wlan: Lager, wpa2 key {_PASSWORD}"},
        {"d": f"net use Z: \\\\fs01\\data /user:corp\\svc {_PASSWORD}"},
        {"d": f"client-key-data: {_KEY}"},
        {"d": f"snmp-server community {_letters(14)} RW"},
        {"d": f"enable secret 5 $1${_letters(4)}${_letters(22)}"},
        {"d": f"requirepass {_PASSWORD}"},
        {"d": f"IDENTIFIED BY '{_PASSWORD}'"},
        {"d": f"ALTER USER app WITH ENCRYPTED PASSWORD '{_PASSWORD}'"},
        {"d": f"New-ADUser x -AccountPassword (ConvertTo-SecureString '{_PASSWORD}' -AsPlainText -Force)"},
        {"d": f"2FA backup: otpauth://totp/AWS:root?secret={'JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP'}&issuer=AWS"},
    ],
)
def test_passwords_in_other_places_are_found(value: JsonValue) -> None:
    assert assess(EmbeddedModel.SECRETS, value).risk_score >= _THRESHOLD


@pytest.mark.parametrize(
    "value",
    [
        {"d": "Credentials: Project / Phase one"},
        {"d": "The credentials page / Settings2 tab"},
        {"d": "$6$ is the prefix of SHA-512 crypt"},
        {"d": f"password: {{hash}} $2y$10${_letters(53)}"},
        {"d": "Zugangsdaten bekommen Sie per Post.\nAnsprechpartner: Frau Keller / Herr Holm"},
        {"d": "<key>Password</key><string>required</string>"},
        {"d": "<password><value>********</value></password>"},
        {"d": "LAPS is enabled; 12 laps in 20 minutes"},
        {"d": "psk: wpa2"},
        {"d": "Donau\u00addampf\u00adschiff\u00adfahrts\u00adgesell\u00adschaft"},
        {"d": "\u0646\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645"},
        {"d": "👩\u200d👩\u200d👧"},
        {"d": "MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEA" + _letters(200)},
        {"d": "ha\u200blf word"},
    ],
)
def test_words_for_them_and_other_hidden_letters_pass(value: JsonValue) -> None:
    assert assess(EmbeddedModel.SECRETS, value).risk_score < _THRESHOLD


def test_what_is_hidden_is_found_where_it_stands() -> None:
    found = assess(EmbeddedModel.SECRETS, {"note": "Thanks. " + _spread(_PASSWORD)}).inspection.findings

    assert [(one.kind, one.place.path) for one in found] == [("password", "$.note")]
