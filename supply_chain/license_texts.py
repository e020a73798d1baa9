"""The license texts that a package brings, where passing it on requires them."""

from pathlib import Path
from typing import Final

from supply_chain.component import LicenseText

_NAMES: Final = ("LICENSE", "LICENCE", "COPYING", "NOTICE", "UNLICENSE")
_MIT: Final = """\
Permission is hereby granted, free of charge, to any person obtaining a copy of this software and associated
documentation files (the "Software"), to deal in the Software without restriction, including without limitation the
rights to use, copy, modify, merge, publish, distribute, sublicense, and/or sell copies of the Software, and to permit
persons to whom the Software is furnished to do so, subject to the following conditions:

The above copyright notice and this permission notice shall be included in all copies or substantial portions of the
Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT NOT LIMITED TO THE
WARRANTIES OF MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR
COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR
OTHERWISE, ARISING FROM, OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE.
"""


class NoTextError(Exception):
    """A package has no license text, and its license is not one that we know the text of."""


def texts_of(
    folder: Path, license_: str, name: str, authors: str, elsewhere: str | None = None
) -> tuple[LicenseText, ...]:
    """Nothing where the license may be Apache-2.0, which lies beside: of those only a NOTICE is passed on (section 4d).

    A package under MIT alone that brings no text gets MIT's own, with ``authors``. Raises NoTextError.
    """
    files = [folder / elsewhere] if elsewhere else sorted(_license_files(folder))
    if "Apache-2.0" in license_.split(" OR "):
        files = [one for one in files if one.name.upper().startswith("NOTICE")]
    elif not files and license_ == "MIT":
        return (LicenseText("MIT", f"Copyright (c) {authors or f'the authors of {name}'}\n\n{_MIT}"),)
    elif not files:
        raise NoTextError(f"{name}: a package under {license_} without a license text")
    return tuple(LicenseText(one.name, one.read_text("utf-8", errors="replace").strip() + "\n") for one in files)


def _license_files(folder: Path) -> list[Path]:
    return [one for one in folder.iterdir() if one.is_file() and one.name.upper().startswith(_NAMES)]
