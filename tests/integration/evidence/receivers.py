"""Where checkpoints go in tests: servers of our own on this machine, each the real thing as far as it can be."""

import subprocess
from pathlib import Path

from tests.http_server import Answer

_CONFIGURATION = """
[tsa]
default_tsa = own
[own]
dir = {folder}
serial = $dir/serial
crypto_device = builtin
signer_cert = $dir/tsa.pem
signer_key = $dir/tsa.key
signer_digest = sha256
default_policy = 1.2.3.4.1
digests = sha256, sha512
accuracy = secs:1
ordering = no
tsa_name = no
ess_cert_id_chain = no
ess_cert_id_alg = sha256
"""


class TimeStampAuthority:
    """OpenSSL's, with a root and a signer of its own in ``folder``."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()
        (folder / "tsa.cnf").write_text(_CONFIGURATION.format(folder=folder))
        (folder / "serial").write_text("01\n")
        (folder / "extensions").write_text("extendedKeyUsage=critical,timeStamping\nkeyUsage=digitalSignature\n")
        new = ["req", "-newkey", "rsa:2048", "-nodes", "-sha256"]
        self._openssl(*new, "-x509", "-subj", "/CN=Test root", "-keyout", "root.key", "-out", "root.pem")
        self._openssl(*new, "-subj", "/CN=Test TSA", "-keyout", "tsa.key", "-out", "tsa.csr")
        self._openssl(
            *("x509", "-req", "-in", "tsa.csr", "-CA", "root.pem", "-CAkey", "root.key", "-CAcreateserial"),
            *("-extfile", "extensions", "-out", "tsa.pem"),
        )

    @property
    def root(self) -> Path:
        return self.folder / "root.pem"

    def answer(self, path: str, body: bytes) -> Answer:
        (self.folder / "query").write_bytes(body)
        self._openssl("ts", "-reply", "-config", "tsa.cnf", "-queryfile", "query", "-out", "reply")
        return 200, "application/timestamp-reply", (self.folder / "reply").read_bytes()

    def answer_of_no_authority(self, path: str, body: bytes) -> Answer:
        """A stamp that differs in one thing: its signer's certificate, of the same root, is not one for time stamps.
        OpenSSL's own authority refuses to make such a one, so the same statement is signed with its CMS."""
        _, content_type, _ = self.answer(path, body)
        (self.folder / "token-extensions").write_text("keyUsage=digitalSignature\n")
        self._openssl(
            "req", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=Web", "-keyout", "web.key", "-out", "web.csr"
        )
        self._openssl(
            *("x509", "-req", "-in", "web.csr", "-CA", "root.pem", "-CAkey", "root.key", "-CAcreateserial"),
            *("-extfile", "token-extensions", "-out", "web.pem"),
        )
        self._openssl("ts", "-reply", "-in", "reply", "-token_out", "-out", "token")
        self._openssl("cms", "-verify", "-noverify", "-inform", "DER", "-in", "token", "-binary", "-out", "statement")
        self._openssl(
            *("cms", "-sign", "-binary", "-nodetach", "-in", "statement", "-outform", "DER", "-signer", "web.pem"),
            *("-inkey", "web.key", "-econtent_type", "1.2.840.113549.1.9.16.1.4", "-cades", "-out", "forged"),
        )
        token = (self.folder / "forged").read_bytes()
        granted = bytes.fromhex("3003020100")
        length = (len(granted) + len(token)).to_bytes(2)
        return 200, content_type, b"\x30\x82" + length + granted + token

    def verifies(self, stamp: bytes, body: str) -> bool:
        """As README.md of a pack says that it is done by hand."""
        (self.folder / "stamp").write_bytes(stamp)
        (self.folder / "body").write_text(body)
        command = ["openssl", "ts", "-verify", "-in", "stamp", "-data", "body", "-CAfile", "root.pem"]
        return subprocess.run(command, cwd=self.folder, capture_output=True, check=False).returncode == 0

    def _openssl(self, *arguments: str) -> None:
        subprocess.run(["openssl", *arguments], cwd=self.folder, capture_output=True, check=True)
