"""One text in every form that the detectors read back, and in some that nobody can open."""

import base64
import bz2
import codecs
import gzip
import io
import lzma
import quopri
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterable

import zstandard

_GREEK_CYRILLIC = str.maketrans(
    "AaBEeHKMOoPpcCTXxyijs",
    "\u0410\u0430\u0412\u0415\u0435\u041d\u041a\u039c\u041e\u043e\u0420\u0440\u0441\u0421\u03a4\u0425\u0445\u0443\u0456\u0458\u0455",
)


def _in_lines(text: str, width: int, separator: str = "\n") -> str:
    return separator.join(text[at : at + width] for at in range(0, len(text), width))


def _base64(text: str, charset: str = "utf-8") -> str:
    return base64.b64encode(text.encode(charset)).decode()


def _hexdump(text: str) -> str:
    data = text.encode()
    lines = []
    for at in range(0, len(data), 16):
        row = data[at : at + 16]
        pairs = " ".join(row[pair : pair + 2].hex() for pair in range(0, len(row), 2))
        lines.append(f"{at:08x}: {pairs:<39}  {row.decode()}")
    return "\n".join(lines)


ENCODINGS: dict[str, Callable[..., str]] = {
    "plain": lambda text: text,
    "base64": _base64,
    "base64url": lambda text: base64.urlsafe_b64encode(text.encode()).decode().rstrip("="),
    "base64 twice": lambda text: _base64(_base64(text)),
    "base64 in short lines": lambda text: _in_lines(_base64(text), 20),
    "base64 in CRLF lines": lambda text: _in_lines(_base64(text), 10, "\r\n"),
    "base64 in groups": lambda text: _in_lines(_base64(text), 4, " "),
    "base64 in odd groups": lambda text: _in_lines(_base64(text), 7, " "),
    "base64 after words": lambda text: "the payload is " + _in_lines(_base64(text), 8, " ") + " and that is all",
    "hex": lambda text: text.encode().hex(),
    "HEX": lambda text: text.encode().hex().upper(),
    "hex with spaces": lambda text: text.encode().hex(" "),
    "hex with colons": lambda text: text.encode().hex(":"),
    "hex with dashes": lambda text: text.encode().hex("-"),
    "hex in words": lambda text: text.encode().hex(" ", 4),
    "hex with 0x": lambda text: ", ".join(f"0x{code:02x}" for code in text.encode()),
    "hex in C": lambda text: "".join(f"\\x{code:02x}" for code in text.encode()),
    "hex in lines": lambda text: _in_lines(text.encode().hex(), 16),
    "hexdump": _hexdump,
    "base32": lambda text: base64.b32encode(text.encode()).decode().rstrip("="),
    "base32 with padding": lambda text: base64.b32encode(text.encode()).decode(),
    "base32 in groups": lambda text: _in_lines(base64.b32encode(text.encode()).decode(), 4, " "),
    "base32 in lines": lambda text: _in_lines(base64.b32encode(text.encode()).decode(), 16),
    "base32 in lower case": lambda text: base64.b32encode(text.encode()).decode().lower(),
    "base32hex": lambda text: base64.b32hexencode(text.encode()).decode(),
    "base85": lambda text: base64.b85encode(text.encode()).decode(),
    "ascii85": lambda text: base64.a85encode(text.encode()).decode(),
    "ascii85 of Adobe": lambda text: base64.a85encode(text.encode(), adobe=True).decode(),
    "quoted-printable": lambda text: "".join(f"={code:02X}" for code in text.encode()),
    "quoted-printable, soft breaks": lambda text: _in_lines(text, 9, "=\r\n"),
    "quoted-printable of a library": lambda text: quopri.encodestring(f"é {text} {'é' * 40}".encode()).decode(),
    "HTML decimal": lambda text: "".join(f"&#{ord(one)};" for one in text),
    "HTML hexadecimal": lambda text: "".join(f"&#x{ord(one):x};" for one in text),
    "HTML without semicolons": lambda text: "".join(f"&#{ord(one):07d}" for one in text),
    "HTML, one letter": lambda text: text[:5] + f"&#{ord(text[5])};" + text[6:],
    "percent": lambda text: "".join(f"%{code:02x}" for code in text.encode()),
    "percent twice": lambda text: "".join(f"%25{code:02x}" for code in text.encode()),
    "percent u": lambda text: "".join(f"%u{ord(one):04x}" for one in text),
    "Unicode escapes": lambda text: "".join(f"\\u{ord(one):04x}" for one in text),
    "Unicode braces": lambda text: "".join(f"\\u{{{ord(one):x}}}" for one in text),
    "Unicode long": lambda text: "".join(f"\\U{ord(one):08x}" for one in text),
    "code points": lambda text: " ".join(f"U+{ord(one):04X}" for one in text),
    "octal escapes": lambda text: "".join(f"\\{ord(one):03o}" for one in text),
    "CSS escapes": lambda text: "".join(f"\\{ord(one):x} " for one in text),
    "decimal list": lambda text: ", ".join(str(code) for code in text.encode()),
    "decimal with spaces": lambda text: " ".join(str(code) for code in text.encode()),
    "decimal in brackets": lambda text: str(list(text.encode())),
    "String.fromCharCode": lambda text: f"String.fromCharCode({','.join(str(code) for code in text.encode())})",
    "octal list": lambda text: " ".join(f"{code:o}" for code in text.encode()),
    "octal with 0o": lambda text: ", ".join(f"0o{code:o}" for code in text.encode()),
    "octal with a zero": lambda text: " ".join(f"0{code:o}" for code in text.encode()),
    "binary": lambda text: " ".join(f"{code:08b}" for code in text.encode()),
    "binary in one": lambda text: "".join(f"{code:08b}" for code in text.encode()),
    "binary of seven": lambda text: " ".join(f"{code:07b}" for code in text.encode()),
    "binary with 0b": lambda text: ",".join(f"0b{code:b}" for code in text.encode()),
    "reversed": lambda text: text[::-1],
    "rot13": lambda text: codecs.encode(text, "rot13"),
    "base64 of reversed": lambda text: _base64(text[::-1]),
    "spaced": " ".join,
    "dotted": ".".join,
    "dashed": "-".join,
    "in lines": "\n".join,
    "combining marks": lambda text: "".join(one + "\u0336" for one in text),
    "accents": lambda text: "".join(one + "\u0301" for one in text),
    "confusables": lambda text: text.translate(_GREEK_CYRILLIC),
    "full width": lambda text: "".join(chr(ord(one) + 0xFEE0) for one in text),
    "mathematical": lambda text: "".join(chr(0x1D400 + ord(one) - 65) if one.isupper() else one for one in text),
    "zero width": "\u200b".join,
    "tags": lambda text: "".join(chr(0xE0000 + ord(one)) for one in text),
    "gzip in base64": lambda text: base64.b64encode(gzip.compress(text.encode(), mtime=0)).decode(),
    "deflate in base64 in lines": lambda text: _in_lines(base64.b64encode(zlib.compress(text.encode())).decode(), 20),
    "gzip in hex": lambda text: gzip.compress(text.encode(), mtime=0).hex(" "),
    "concatenated strings": lambda text: " + ".join(f'"{text[at : at + 6]}"' for at in range(0, len(text), 6)),
    "HTML tags": lambda text: "<p>" + "<b></b>".join((text[:8], text[8:20], text[20:])) + "</p>",
    "JSON in JSON": lambda text: '{"a": "{\\"b\\": \\"' + text + '\\"}"}',
}


def zipped(entries: Iterable[tuple[str, bytes]], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as archive:
        for name, data in entries:
            archive.writestr(name, data)
    return buffer.getvalue()


def tarred(entries: Iterable[tuple[str, bytes]], mode: str = "w") -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode=mode) as archive:  # type: ignore[call-overload]
        for name, data in entries:
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return buffer.getvalue()


def _commented(archive: bytes, comment: str) -> bytes:
    buffer = io.BytesIO(archive)
    with zipfile.ZipFile(buffer, "a") as opened:
        opened.comment = comment.encode()
    return buffer.getvalue()


def _named(name: str, data: bytes) -> bytes:
    buffer = io.BytesIO()
    with gzip.GzipFile(name, "wb", fileobj=buffer, mtime=0) as opened:
        opened.write(data)
    return buffer.getvalue()


def _noted(text: str) -> bytes:
    return f"Notes of the day.\nkey: {text}\n".encode()


def document_xml(text: str) -> bytes:
    """Word cuts a run wherever spelling or formatting changes."""
    runs = "".join(f"<w:r><w:rPr><w:b/></w:rPr><w:t>{part}</w:t></w:r>" for part in (text[:9], text[9:21], text[21:]))
    return f'<?xml version="1.0"?><w:document xmlns:w="x"><w:body><w:p>{runs}</w:p></w:body></w:document>'.encode()


def pdf(text: str, *, flate: bool = True, trailer: str = "") -> bytes:
    shown = f"BT /F1 12 Tf 72 700 Td [({text[:10]}) -20 ({text[10:]})] TJ ET".encode()
    return _pdf_file([(shown, "")], flate=flate, trailer=trailer)


def pdf_of_glyphs(text: str) -> bytes:
    """As a subset font has it: glyph numbers, and a map to Unicode beside them."""
    numbers = {one: number for number, one in enumerate(sorted(set(text)), 3)}
    mapped = "".join(f"<{number:04x}> <{ord(one):04x}>\n" for one, number in numbers.items())
    shown = "".join(f"{numbers[one]:04x}" for one in text)
    content = f"BT /F1 12 Tf <{shown}> Tj ET".encode()
    return _pdf_file([(content, ""), (f"{len(numbers)} beginbfchar\n{mapped}endbfchar".encode(), "")], flate=True)


def _pdf_file(streams: Iterable[tuple[bytes, str]], *, flate: bool, trailer: str = "") -> bytes:
    out = b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n1 0 obj\n<< /Type /Catalog >>\nendobj\n"
    for number, (content, extra) in enumerate(streams, 4):
        data = zlib.compress(content) if flate else content
        filtered = "/Filter /FlateDecode " if flate else ""
        head = f"{number} 0 obj\n<< {filtered}{extra}/Length {len(data)} >>\nstream\n"
        out += head.encode() + data + b"\nendstream\nendobj\n"
    return out + f"trailer << {trailer} >>\n%%EOF\n".encode()


FILES: dict[str, Callable[[str], bytes]] = {
    "gzip": lambda text: gzip.compress(_noted(text), mtime=0),
    "gzip of gzip": lambda text: gzip.compress(gzip.compress(_noted(text), mtime=0), mtime=0),
    "gzip, second member": lambda text: gzip.compress(b"nothing", mtime=0) + gzip.compress(_noted(text), mtime=0),
    "zlib": lambda text: zlib.compress(_noted(text)),
    "bzip2": lambda text: bz2.compress(_noted(text)),
    "xz": lambda text: lzma.compress(_noted(text)),
    "lzma": lambda text: lzma.compress(_noted(text), format=lzma.FORMAT_ALONE),
    "zstd": lambda text: zstandard.ZstdCompressor().compress(_noted(text)),
    "zip": lambda text: zipped([("a.txt", b"nothing"), ("b/c.txt", _noted(text))]),
    "zip, stored": lambda text: zipped([("a.txt", b"x\0y"), ("c.txt", _noted(text))], zipfile.ZIP_STORED),
    "zip, bzip2": lambda text: zipped([("c.txt", _noted(text))], zipfile.ZIP_BZIP2),
    "zip, file name": lambda text: zipped([(f"{text}.txt", b"nothing")]),
    "zip, comment": lambda text: _commented(zipped([("a.txt", b"nothing")]), text),
    "zip, behind the archive": lambda text: zipped([("a.txt", b"nothing")]) + _noted(text),
    "gzip, file name": lambda text: _named(f"{text}.txt", b"nothing"),
    "gzip, behind the data": lambda text: gzip.compress(b"nothing", mtime=0) + _noted(text),
    "gzip, an archive behind it": lambda text: gzip.compress(b"nothing", mtime=0) + lzma.compress(_noted(text)),
    "zip, an archive behind it": lambda text: zipped([("a.txt", b"nothing")]) + bz2.compress(_noted(text)),
    "bzip2, second stream": lambda text: bz2.compress(b"nothing") + bz2.compress(_noted(text)),
    "xz, second stream": lambda text: lzma.compress(b"nothing") + bytes(4) + lzma.compress(_noted(text)),
    "bzip2, behind the data": lambda text: bz2.compress(b"nothing") + _noted(text),
    "xz, behind the data": lambda text: lzma.compress(b"nothing") + _noted(text),
    "zstd, skippable frame": lambda text: (
        zstandard.ZstdCompressor().compress(b"nothing")
        + b"\x50\x2a\x4d\x18"
        + len(_noted(text)).to_bytes(4, "little")
        + _noted(text)
    ),
    "tar, behind the archive": lambda text: tarred([("a.txt", b"nothing")]) + _noted(text),
    "zip in zip": lambda text: zipped([("a.zip", zipped([("b.txt", _noted(text))]))]),
    "tar": lambda text: tarred([("a.txt", b"nothing"), ("b.txt", _noted(text))]),
    "tar.gz": lambda text: tarred([("b.txt", _noted(text))], "w:gz"),
    "tar.bz2": lambda text: tarred([("b.txt", _noted(text))], "w:bz2"),
    "tar.xz": lambda text: tarred([("b.txt", _noted(text))], "w:xz"),
    "zip of base64": lambda text: zipped([("b.txt", _base64(f"note {text}").encode())]),
    "docx": lambda text: zipped([("[Content_Types].xml", b"<Types/>"), ("word/document.xml", document_xml(text))]),
    "xlsx": lambda text: zipped(
        [("xl/sharedStrings.xml", f"<?xml version='1.0'?><sst><si><t>{text}</t></si></sst>".encode())]
    ),
    "pdf": pdf,
    "pdf, not compressed": lambda text: pdf(text, flate=False),
    "pdf of glyphs": pdf_of_glyphs,
    "pdf, metadata": lambda text: _pdf_file([(f"<x:xmpmeta><dc:title>{text}</dc:title>".encode(), "")], flate=True),
    "pdf, comment": lambda text: pdf("nothing to see here") + f"% {text}\n".encode(),
    "pdf, embedded file": lambda text: _pdf_file([(zipped([("a.txt", _noted(text))]), "")], flate=False),
    "UTF-16": lambda text: _noted(text).decode().encode("utf-16"),
}


def _encrypted_zip(text: str) -> bytes:
    data = bytearray(zipped([("a.txt", _noted(text))]))
    data[6] |= 1
    return bytes(data)


def _noise(text: str) -> bytes:
    return bytes((code * 7 + 131 + at * at) % 256 for at, code in enumerate(text.encode() * 20))


UNSCANNABLE: dict[str, Callable[[str], bytes]] = {
    "encrypted zip": _encrypted_zip,
    "zip of a method that nobody has": lambda text: _noisy_zip(),
    "damaged xz": lambda text: lzma.compress(_noted(text))[:40] + b"\xff" * 40,
    "encrypted pdf": lambda text: pdf(_base64(text)[::-1], trailer="/Encrypt 9 0 R"),
    "picture": lambda text: b"\x89PNG\r\n\x1a\n\0" + bytes(range(128, 256)) * 4,
    "noise": _noise,
    "picture in a zip": lambda text: zipped([("a.png", b"\x89PNG\r\n\x1a\n\0" + bytes(range(128, 256)) * 4)]),
}


def _noisy_zip() -> bytes:
    data = bytearray(zipped([("a.txt", b"nothing to see here" * 3)]))
    data[8] = 97
    return bytes(data)
