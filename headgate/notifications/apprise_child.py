"""The process in which Apprise runs: one JSON line in, one JSON line out, repeatedly.

It holds no secret except the address in use, and no environment. Apprise opens its own connections, so the destination
rules apply where no library can bypass them: an audit hook (PEP 578) sees every ``connect`` before it happens. The hook
remembers name resolutions, so it checks each connection under the requested name. The process starts no programs,
writes no files, and reads only files of the installation.

In:  ``{"url", "title", "body", "rules": destination rules}``

Out: ``{"ready": true}``, or ``{"missing": text}`` and its end; then ``{"succeeded": bool, "blocked": [host, …], "said":
text}`` for each
"""

import json
import logging
import os
import resource
import socket
import sys
from collections.abc import Iterable
from ipaddress import ip_address
from typing import Any, Final

import certifi

from headgate.kernel.extras import MissingExtraError, importing
from headgate.organizations.addresses import Address
from headgate.organizations.destinations import PUBLIC_ONLY, DestinationRules, rules_of_document

_MEMORY_BYTES: Final = 1 << 30
_SAID_CHARACTERS: Final = 1000
_FORBIDDEN: Final = frozenset(
    {
        "subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.spawn", "os.fork", "os.forkpty", "pty.spawn",
        "socket.bind", "os.remove", "os.rename", "os.mkdir", "os.rmdir", "os.chmod", "os.chown", "os.link",
        "os.symlink", "os.truncate", "shutil.rmtree", "ctypes.dlopen",
    }
)  # fmt: skip
_WRITES: Final = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND


class Fence:
    """What this process may do once ``close`` was called."""

    def __init__(self) -> None:
        self._rules: DestinationRules = PUBLIC_ONLY
        self._names: dict[Address, set[str]] = {}
        self._readable: tuple[str, ...] = ()
        self.blocked: list[str] = []

    def close(self) -> None:
        """The restriction is permanent: audit hooks cannot be removed."""
        certificates = (certifi.where(), *filter(None, (os.environ.get("REQUESTS_CA_BUNDLE"),)))
        system = ("/etc/hosts", "/etc/resolv.conf", "/etc/ssl/", "/etc/localtime", "/usr/share/zoneinfo", "/dev/null")
        roots = {sys.prefix, sys.base_prefix, *(path for path in sys.path if path)}
        self._readable = (*(f"{os.path.realpath(root)}/" for root in roots), *certificates, *system)
        resolve = socket.getaddrinfo

        def remember(host: Any, *rest: Any, **named: Any) -> Any:
            found = resolve(host, *rest, **named)
            name = host.decode() if isinstance(host, bytes) else str(host or "")
            for one in found:
                self._names.setdefault(ip_address(str(one[4][0]).partition("%")[0]), set()).add(name)
            return found

        socket.getaddrinfo = remember
        sys.addaudithook(self._judge)

    def begin(self, rules: DestinationRules) -> None:
        self._rules = rules
        self._names.clear()
        self.blocked.clear()

    def _judge(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event in ("socket.connect", "socket.sendto"):
            self._judge_connection(arguments[1])
        elif event == "open":
            self._judge_file(*arguments)
        elif event in _FORBIDDEN:
            raise PermissionError(f"{event} is not for this process")

    def _judge_connection(self, where: object) -> None:
        try:
            host, port = where[0], where[1]  # type: ignore[index] # what is not a pair is refused below
            address = ip_address(str(host).partition("%")[0])
        except (TypeError, IndexError, ValueError) as error:
            raise PermissionError("only internet addresses are connected to") from error
        names = self._names.get(address) or {str(address)}
        if not any(self._rules.permits(name, address, int(port)) for name in names):
            self.blocked.extend(f"{name} port {port}" for name in sorted(names))
            raise PermissionError("destination blocked")

    def _judge_file(self, path: object, mode: object, flags: int) -> None:
        writes = bool(flags & _WRITES) or (isinstance(mode, str) and any(sign in mode for sign in "wax+"))
        if isinstance(path, int):
            return  # a descriptor that is open already
        text = os.fsdecode(path) if isinstance(path, str | bytes) else ""
        if text == "/dev/null":
            return
        if writes or not os.path.realpath(text).startswith(self._readable):
            raise PermissionError("this file is not for this process")


def _answers(lines: Iterable[str], fence: Fence) -> Iterable[str]:
    try:
        with importing("notifications", "messages to this service"):
            from apprise import Apprise, AppriseAsset, LogCapture  # noqa: PLC0415 - after the limits are set
    except MissingExtraError as error:
        yield json.dumps({"missing": error.message})
        return
    asset = AppriseAsset(app_id="Headgate", app_desc="Headgate", app_url="", secure_logging=True, plugin_paths=[])
    Apprise.instantiate("ntfy://warm", asset=asset)  # Load the services once, while files can still be read.
    fence.close()
    yield json.dumps({"ready": True})
    for line in lines:
        asked = json.loads(line)
        fence.begin(rules_of_document(asked["rules"]))
        with LogCapture(level=logging.INFO, name="apprise", fmt="%(message)s") as said:  # type: ignore[no-untyped-call] # the library leaves it untyped
            target = Apprise.instantiate(asked["url"], asset=asset)
            succeeded = target is not None and bool(
                target.notify(title=asked["title"], body=asked["body"], body_format="text")
            )
            text = said.getvalue()
        if target is None:
            text = "the service does not understand this address"
        yield json.dumps({"succeeded": succeeded, "blocked": fence.blocked, "said": text[-_SAID_CHARACTERS:]})


def main() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY_BYTES, _MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    answers, sys.stdout = sys.stdout, sys.stderr  # Output that a library prints is not an answer.
    for answer in _answers(sys.stdin, Fence()):
        answers.write(answer + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
