"""Which users run processes of an instance, from processes that run."""

import os
import pwd

from headgate.cli.process_users import users_of

OWN = os.geteuid()


def test_another_user_of_a_process_is_named() -> None:
    assert users_of([os.getpid(), os.getpid()], besides=OWN + 1) == [pwd.getpwuid(OWN).pw_name]


def test_our_own_user_and_processes_that_ended_are_not() -> None:
    assert users_of([os.getpid(), 2**30], besides=OWN) == []
