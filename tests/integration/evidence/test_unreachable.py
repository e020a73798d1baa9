"""What a command says of a database that is not there: one line, and it is ours."""

import os
import socket
import subprocess
import sys

_PROGRAM = "from headgate.cli.main import main; main()"


def test_one_line_says_that_the_database_is_out_of_reach() -> None:
    with socket.socket() as taken:  # bound, and nobody listens: every connection is refused
        taken.bind(("127.0.0.1", 0))
        url = f"postgresql://nobody:s3cret@127.0.0.1:{taken.getsockname()[1]}/none"
        ended = subprocess.run(
            [sys.executable, "-c", _PROGRAM, "audit", "verify", "--database-url", url],
            env={"PATH": os.environ["PATH"]}, capture_output=True, text=True, check=False,
        )  # fmt: skip
    # Not 1, which says that the record was tampered with.
    assert (ended.returncode, ended.stdout) == (2, "")
    (line,) = ended.stderr.splitlines()
    assert line.startswith("headgate: the audit log was NOT verified: the database is out of reach")
