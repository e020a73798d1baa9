"""pg_dump and pg_restore: those of the embedded database, or the operating system's.

pg_dump reads servers of its own version and older (PostgreSQL documentation, "pg_dump", Notes). The password goes
through the environment, which other users cannot read, never through the command line.
"""

import re
import shutil
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from threading import Thread
from typing import IO, Final

from psycopg.conninfo import conninfo_to_dict, make_conninfo

from headgate.kernel.errors import UnavailableError
from headgate.kernel.secrets import Secret
from headgate.runtime.postgres import binaries

_READ_BYTES: Final = 1024 * 1024
_VERSION: Final = re.compile(r"\(PostgreSQL\) (\d+)")
_SYSTEM_FOLDERS: Final = Path("/usr/lib/postgresql")


def find_program(name: str, major: int) -> Path:
    """The first that is of this major version of PostgreSQL or a later one. Raises UnavailableError."""
    too_old: list[str] = []
    for path in _candidates(name):
        found = major_of(path)
        if found is None:
            continue
        if found >= major:
            return path
        too_old.append(f"{path} is of PostgreSQL {found}")
    seen = f" ({'; '.join(too_old)})" if too_old else ""
    raise UnavailableError(
        f"{name} of PostgreSQL {major} or later is needed and was not found{seen}: install postgresql-client-{major},"
        " or headgate[embedded]"
    )


def _candidates(name: str) -> Iterator[Path]:
    with suppress(UnavailableError):  # a database of one's own needs no embedded one
        yield binaries() / name
    yield from sorted(_SYSTEM_FOLDERS.glob(f"*/bin/{name}"), reverse=True)
    if (found := shutil.which(name)) is not None:
        yield Path(found)


def major_of(path: Path) -> int | None:
    """The major version of a program of PostgreSQL; None: it does not run."""
    try:
        answer = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=30, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    found = _VERSION.search(answer.stdout)
    return None if found is None else int(found[1])


def dumped(program: Path, database: Secret, snapshot: str | None) -> Iterator[bytes]:
    """A dump in PostgreSQL's custom format, piece by piece. ``snapshot``: of a transaction that exported it; the
    transaction must stay open until the last piece. Raises UnavailableError."""
    options = ["--format=custom", "--compress=gzip:1", "--lock-wait-timeout=60s"]
    if snapshot is not None:
        options.append(f"--snapshot={snapshot}")
    with _started(program, database, options, stdin=None) as process:
        output = _pipe(process.stdout)
        while piece := output.read(_READ_BYTES):
            yield piece
        _require_success(process, "the database could not be dumped")


def load(program: Path, database: Secret, dump: Iterable[bytes]) -> None:
    """Restores a dump in one transaction: all of it, or nothing. Raises UnavailableError."""
    options = ["--single-transaction", "--exit-on-error"]
    with _started(program, database, options, stdin=subprocess.PIPE) as process:
        target = _pipe(process.stdin)
        try:
            for piece in dump:
                target.write(piece)
            target.close()
        except BrokenPipeError:
            pass  # it has ended, and says why
        except BaseException:
            process.kill()
            raise
        _require_success(process, "the dump could not be restored")


class _Process(subprocess.Popen[bytes]):
    """A running program. Its messages are read beside its output, because a full pipe would stop it."""

    def __init__(self, command: list[str], environment: Mapping[str, str], stdin: int | None) -> None:
        super().__init__(
            command,
            env=dict(environment),
            stdin=subprocess.DEVNULL if stdin is None else stdin,
            stdout=subprocess.PIPE if stdin is None else subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        self.messages = b""
        self.reader = Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self) -> None:
        self.messages = _pipe(self.stderr).read()


class _started:  # noqa: N801 - used as a function
    """A program of PostgreSQL, ended with the block."""

    def __init__(self, program: Path, database: Secret, options: list[str], stdin: int | None) -> None:
        parameters = {
            name: str(value) for name, value in conninfo_to_dict(database.reveal()).items() if value is not None
        }
        password = parameters.pop("password", None)
        environment = {"PATH": "/usr/bin:/bin", "LC_ALL": "C", "TZ": "UTC"}
        if password is not None:
            environment["PGPASSWORD"] = password
        self._command = [
            str(program),
            f"--dbname={make_conninfo(**parameters)}",
            "--no-password",
            *options,
        ]
        self._environment = environment
        self._stdin = stdin

    def __enter__(self) -> _Process:
        try:
            self._process = _Process(self._command, self._environment, self._stdin)
        except OSError as error:
            raise UnavailableError(f"{self._command[0]} cannot be started: {error}") from error
        return self._process

    def __exit__(self, *_: object) -> None:
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout, self._process.stderr):
            if pipe is not None:
                with suppress(BrokenPipeError):
                    pipe.close()


def _require_success(process: _Process, what: str) -> None:
    status = process.wait()
    process.reader.join()
    if status != 0:
        said = [line[:300] for line in process.messages.decode(errors="replace").strip().splitlines()]
        if any("statement timeout" in line or "lock timeout" in line for line in said):
            raise UnavailableError(
                f"{what}: another transaction has locked a table for 60 s (a migration, or a process that"
                " hangs); run the command again"
            )
        raise UnavailableError(f"{what}: " + ("\n".join(said[-5:]) or f"exit status {status}"))


def _pipe(pipe: IO[bytes] | None) -> IO[bytes]:
    if pipe is None:
        raise RuntimeError("the program has no such pipe")
    return pipe
