"""Canary tokens of the tests."""

from datetime import UTC, datetime

from headgate.canaries.model import Canary, mac_of
from headgate.kernel.secrets import Secret

KEY = Secret("ab" * 32)
FIRST, SECOND = "q7mzk2v9x4b1n8c5w3j6", "AKIAIOSFODNN7EXAMPLE"


def canary_of(name: str, value: str) -> Canary:
    lowered = value.lower()
    mac = mac_of(KEY, lowered.encode())
    return Canary("org", f"can_{name}", name, value[:4], len(lowered), mac, datetime(2026, 11, 27, tzinfo=UTC), None)
