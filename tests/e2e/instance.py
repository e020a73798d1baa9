"""A whole instance, started as people start it, and the runtime file as the only way in."""

import json
import os
import pty
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psycopg
from psycopg.rows import dict_row

from headgate.configuration.settings import Part, environment_with_file, read_settings
from headgate.runtime.parts import child_environment
from headgate.runtime.servers import place_servers
from tests.e2e.waiting import wait_for
from tests.free_port import free_port

HOLD_SECONDS = 2


class Instance:
    """``headgate up`` as a child process."""

    def __init__(self, folder: Path, upstream_roots: Path, settings: Mapping[str, str]) -> None:
        self.folder = folder
        self.runtime_file = folder / "runtime.json"
        self.log = folder / "instance.log"
        # Without bytecode every start of a part would compile all that it imports.
        inherited = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        self._environment = {name: value for name, value in inherited.items() if not name.startswith("HEADGATE_")} | {
            "HEADGATE_SETTINGS_FILE": str(_settings_file(folder, upstream_roots)),
            **settings,
        }
        command = [sys.executable, "-m", "headgate.cli.main", "up", "--data-dir", str(folder / "data")]
        command += ["--runtime-file", str(self.runtime_file), "--api-port", "0", "--proxy-port", "0"]
        with self.log.open("wb") as log:
            self._process = subprocess.Popen(command, env=self._environment, stdout=log, stderr=log)
        wait_for(lambda: self.runtime_file.exists() or self._has_ended(), "the instance is ready", seconds=110)
        assert self.runtime_file.exists(), self.log.read_text()

    def _has_ended(self) -> bool:
        return self._process.poll() is not None

    @property
    def runtime(self) -> dict[str, Any]:
        """What the runtime file says now."""
        document: dict[str, Any] = json.loads(self.runtime_file.read_text())
        return document

    def pids(self, part: str) -> list[int]:
        found: list[int] = self.runtime["pids"][part]
        return found

    def kill(self, part: str, number: signal.Signals = signal.SIGKILL) -> list[int]:
        """Signal every process of a part; returns which."""
        pids = self.pids(part)
        assert pids, f"{part} does not run"
        for pid in pids:
            os.kill(pid, number)
        return pids

    @contextmanager
    def frozen(self, part: str) -> Iterator[None]:
        """A part that is there and does nothing: its processes and their children are stopped meanwhile."""
        pids = [pid for parent in self.pids(part) for pid in (parent, *children(parent))]
        for pid in pids:
            os.kill(pid, signal.SIGSTOP)
        try:
            yield
        finally:
            for pid in pids:
                with suppress(ProcessLookupError):  # it had ended, and its parent, which goes on again, took note of it
                    os.kill(pid, signal.SIGCONT)

    def wait_until_restarted(self, part: str, killed: list[int]) -> None:
        """New processes, as many as before, that serve."""

        def restarted() -> bool:
            pids = self.pids(part)
            return len(pids) == len(killed) and not set(pids) & set(killed)

        wait_for(restarted, f"{part} is started again", seconds=90)
        if part == "proxy":
            wait_for(lambda: all(listens(pid) for pid in self.pids("proxy")), "the proxies listen", seconds=90)

    def rows(self, sql: str, *values: object) -> list[dict[str, Any]]:
        """Behind the API: what the database itself holds."""
        with psycopg.connect(self.runtime["database_url"], autocommit=True, row_factory=dict_row) as connection:
            return connection.execute(sql.encode(), values).fetchall()

    def execute(self, sql: str, *values: object) -> None:
        with psycopg.connect(self.runtime["database_url"], autocommit=True) as connection:
            connection.execute(sql.encode(), values)

    def command(self, name: str, *words: str) -> str:
        """What a ``headgate`` command prints, run against this instance as a person would."""
        done = self.try_command(name, *words)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def try_command(self, name: str, *words: str, subcommand: str | None = None) -> "subprocess.CompletedProcess[str]":
        called = [name] if subcommand is None else [name, *subcommand.split()]
        command = [sys.executable, "-m", "headgate.cli.main", *called, "--runtime-file", str(self.runtime_file), *words]
        return subprocess.run(
            command, env=self._environment, cwd=self.folder, capture_output=True, text=True, check=False, timeout=100
        )

    def on_a_terminal(self, group: str, name: str, *words: str) -> tuple[int, str]:
        """``headgate GROUP NAME …`` with a terminal as its standard error: the exit status, and what it shows."""
        command = [sys.executable, "-m", "headgate.cli.main", group, name, "--runtime-file", str(self.runtime_file)]
        screen, terminal = pty.openpty()
        with os.fdopen(screen, "rb", buffering=0) as shown:
            process = subprocess.Popen(
                [*command, *words], env=self._environment, cwd=self.folder, stdout=subprocess.DEVNULL, stderr=terminal
            )
            os.close(terminal)
            written = b""
            with suppress(OSError):  # Linux says EIO when the other end is closed
                while piece := shown.read(4096):
                    written += piece
            return process.wait(100), written.decode()

    def try_subcommand(self, group: str, name: str, *words: str) -> "subprocess.CompletedProcess[str]":
        """``headgate GROUP NAME …``; a group within the group is a word of ``name``."""
        return self.try_command(group, *words, subcommand=name)

    def environment_of(self, part: str) -> dict[str, str]:
        """With what the supervisor started this part, to start one more of it."""
        settings = replace(
            read_settings(self._environment),
            data_dir=self.folder / "data",
            api_port=urlsplit(self.runtime["api_url"]).port,
            proxy_port=urlsplit(self.runtime["proxy_url"]).port,
        )
        return child_environment(
            environment_with_file(self._environment), Part[part.upper()], settings, place_servers(settings)
        )

    def stop(self) -> int:
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGTERM)
        try:
            return self._process.wait(60)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
            raise


def _settings_file(folder: Path, upstream_roots: Path) -> Path:
    file = folder / "headgate.toml"
    file.write_text(
        f"hold_seconds = {HOLD_SECONDS}\nrate_limits = false\nupstream_ca_file = {json.dumps(str(upstream_roots))}\n"
    )
    file.chmod(0o600)
    return file


@contextmanager
def running(folder: Path, upstream_roots: Path, **settings: str) -> Iterator[Instance]:
    """An instance for as long as the block runs; its log is shown where it does not stop in an orderly way."""
    instance = Instance(folder, upstream_roots, settings)
    try:
        yield instance
    finally:
        status = instance.stop()
    assert status == 0, instance.log.read_text()[-4000:]


@contextmanager
def one_more_proxy(instance: Instance, **settings: str) -> Iterator[str]:
    """``headgate proxy`` on a port of its own, against the instance's servers; yields its address."""
    with _one_more(instance, "proxy", settings) as url:
        yield url


@contextmanager
def one_more_api(instance: Instance, **settings: str) -> Iterator[str]:
    """``headgate api``, likewise."""
    with _one_more(instance, "api", settings) as url:
        yield url


@contextmanager
def _one_more(instance: Instance, part: str, settings: Mapping[str, str]) -> Iterator[str]:
    port = free_port()
    environment = instance.environment_of(part) | {f"HEADGATE_{part.upper()}_PORT": str(port), **settings}
    command = [sys.executable, "-P", "-m", "headgate.cli.main", part]
    log_path = instance.folder / f"{part}-{port}.log"
    with log_path.open("wb") as log:
        process = subprocess.Popen(command, env=environment, stdout=log, stderr=log)
    try:
        wait_for(lambda: listens(process.pid) or process.poll() is not None, f"the second {part} listens", seconds=90)
        assert process.poll() is None, log_path.read_text()
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(30)


def children(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def listens(pid: int) -> bool:
    """Whether the process has a listening TCP socket (proc(5), /proc/net/tcp: state 0A)."""
    try:
        own = {link.readlink().name for link in Path(f"/proc/{pid}/fd").iterdir()}
    except OSError:
        return False
    lines = Path("/proc/net/tcp").read_text().splitlines()[1:]
    return any(line.split()[3] == "0A" and f"socket:[{line.split()[9]}]" in own for line in lines)
