"""The ZIP of a proof pack: the same members give the same bytes.

Its comment is the SHA-256 of every byte before it, so that a bit that changes anywhere, in what no member holds too,
is noticed. (Deflate's output depends on the library's version: the same bytes come from the same installation.)
"""

import hashlib
import io
import zipfile
from collections.abc import Mapping
from typing import Final

_DIGEST_CHARACTERS: Final = 64
_LEVEL: Final = 9


def write_archive(members: Mapping[str, bytes]) -> bytes:
    """In the order of names, with no time and no owner but fixed ones."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=_LEVEL) as archive:
        for name, content in sorted(members.items()):
            entry = zipfile.ZipInfo(name)  # 1980-01-01: ZIP knows no earlier time
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = 0o644 << 16
            entry.create_system = 3
            archive.writestr(entry, content)
        archive.comment = b"0" * _DIGEST_CHARACTERS
    content = buffer.getvalue()[:-_DIGEST_CHARACTERS]
    return content + hashlib.sha256(content).hexdigest().encode()
