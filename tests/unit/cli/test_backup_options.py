"""Who the record says made a backup, or restored one."""

import os
import pwd
import socket

import pytest

from headgate.cli.backup_options import operator

_HOST = socket.gethostname()


def test_no_variable_names_another_person(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "getuid", lambda: 1)
    for name in ("LOGNAME", "USER", "LNAME", "USERNAME", "SUDO_USER"):
        monkeypatch.setenv(name, "alice")
    assert operator() == f"{pwd.getpwuid(1).pw_name}@{_HOST}"


def test_root_is_named_with_the_person_who_became_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "getuid", lambda: 0)
    monkeypatch.setenv("SUDO_USER", "alice")
    assert operator() == f"root@{_HOST} (sudo by alice)"
    monkeypatch.delenv("SUDO_USER")
    assert operator() == f"root@{_HOST}"


def test_an_account_without_a_name_is_named_by_its_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "getuid", lambda: 4_000_000_000)
    assert operator() == f"uid 4000000000@{_HOST}"
