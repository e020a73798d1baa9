"""A Git server as many run it: ``git http-backend`` behind an HTTPS server (git-http-backend(1), CGI/1.1)."""

import gzip
import os
import ssl
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit

_IDENTITY = {
    "GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@example.com", "GIT_COMMITTER_NAME": "a",
    "GIT_COMMITTER_EMAIL": "a@example.com", "GIT_CONFIG_NOSYSTEM": "1", "GIT_TERMINAL_PROMPT": "0",
}  # fmt: skip


@dataclass
class GitServer:
    """``folder`` holds bare repositories; ``requests``: method, path with query, and body of each, decoded."""

    url: str
    folder: Path
    requests: list[tuple[str, str, bytes]] = field(default_factory=list)

    def create(self, name: str) -> Path:
        git(self.folder, "init", "--bare", "--quiet", "--initial-branch=main", name)
        git(self.folder / name, "config", "http.receivepack", "true")
        return self.folder / name

    def ref(self, name: str, ref: str) -> str:
        """Empty: it is not there."""
        done = subprocess.run(
            ["git", "rev-parse", "--verify", "--quiet", ref],
            cwd=self.folder / name,
            capture_output=True,
            text=True,
            check=False,
        )
        return done.stdout.strip()


def git(folder: Path, *words: str, check: bool = True, **variables: str) -> "subprocess.CompletedProcess[str]":
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder), **_IDENTITY, **variables}
    done = subprocess.run(
        ["git", *words], cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=90
    )
    assert not check or done.returncode == 0, done.stderr
    return done


def commit(folder: Path, text: str, *, amend: bool = False) -> str:
    (folder / "file").write_text(text)
    git(folder, "add", "file")
    git(folder, "commit", "--quiet", "-m", text, *(["--amend"] if amend else []))
    return git(folder, "rev-parse", "HEAD").stdout.strip()


@contextmanager
def git_server(folder: Path, certificate: Path | None = None) -> Iterator[GitServer]:
    """With TLS where a certificate is given."""
    server = GitServer("", folder)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _serve(self) -> None:
            body = self._body()
            parts = urlsplit(self.path)
            decoded = gzip.decompress(body) if self.headers.get("Content-Encoding") == "gzip" else body
            server.requests.append((self.command, self.path, decoded))
            environment = {
                "PATH": os.environ["PATH"], "GIT_PROJECT_ROOT": str(folder), "GIT_HTTP_EXPORT_ALL": "1",
                "PATH_INFO": parts.path, "QUERY_STRING": parts.query, "REQUEST_METHOD": self.command,
                "CONTENT_TYPE": self.headers.get("Content-Type", ""), "CONTENT_LENGTH": str(len(body)),
                "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""),
                "GIT_PROTOCOL": self.headers.get("Git-Protocol", ""), "REMOTE_USER": "agent",
            }  # fmt: skip
            done = subprocess.run(
                ["git", "http-backend"], env=environment, input=body, capture_output=True, check=False
            )
            head, _, answer = done.stdout.partition(b"\r\n\r\n")
            fields = dict(line.split(": ", 1) for line in head.decode().splitlines() if ": " in line)
            self.send_response(int(fields.pop("Status", "200 OK").split()[0]))
            for name, value in fields.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def _body(self) -> bytes:
            if self.headers.get("Transfer-Encoding") != "chunked":
                return self.rfile.read(int(self.headers.get("Content-Length") or 0))
            found = b""
            while size := int(self.rfile.readline(), 16):
                found += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
            return found

        do_GET = do_POST = _serve  # noqa: N815 - the base class' names

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class' name
            pass

    listener = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    scheme = "http"
    if certificate is not None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        listener.socket = context.wrap_socket(listener.socket, server_side=True)
        scheme = "https"
    server.url = f"{scheme}://127.0.0.1:{listener.server_port}"
    thread = threading.Thread(target=listener.serve_forever, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        listener.shutdown()
        listener.server_close()
        thread.join()
