"""Hooks of the site's build (https://www.mkdocs.org/user-guide/plugins/#events).

The pages at the root of the repository become pages of the site, each decision record gets its place in the navigation,
and a link to a file that is no page becomes its text: the site holds pages, not the repository.
"""

import posixpath
import re
from pathlib import Path
from typing import Any, Final

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT: Final = Path(__file__).resolve().parent.parent
FROM_THE_ROOT: Final = {
    "README.md": "index.md",
    "CHANGELOG.md": "changelog.md",
    "SECURITY.md": "security.md",
    "CONTRIBUTING.md": "contributing.md",
}
_SOURCES: Final = {page: source for source, page in FROM_THE_ROOT.items()}
_DECISIONS: Final = "decisions/README.md"
# Code is matched first, and left as it is.
_LINK: Final = re.compile(
    r"^```.*?^```|`[^`\n]*`|(?<!!)\[(?P<text>(?:`[^`\n]*`|[^]`])*)\]\((?P<to>[^()\s]+)\)", re.M | re.S
)
_PICTURE: Final = re.compile(r'(?P<name>src|srcset)="docs/')


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Adds the decision records to the navigation, behind their list."""
    records = sorted((Path(config.docs_dir) / "decisions").glob("[0-9]*.md"))
    _section(config.nav, _DECISIONS).extend(f"decisions/{record.name}" for record in records)
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Adds the pages at the root of the repository."""
    for source, page in FROM_THE_ROOT.items():
        files.append(File.generated(config, page, content=(ROOT / source).read_text("utf-8")))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Writes the links of a page for their places in the site."""
    here = page.file.src_uri
    source = _SOURCES.get(here, f"docs/{here}")

    def rewritten(found: re.Match[str]) -> str:
        if (target := found["to"]) is None or "://" in target or target.startswith(("#", "mailto:")):
            return found[0]
        path, mark, part = target.partition("#")
        named = posixpath.normpath(posixpath.join(posixpath.dirname(source), path))
        to = FROM_THE_ROOT.get(named) or (named.removeprefix("docs/") if named.startswith("docs/") else None)
        if (ROOT / named).exists() and (to is None or files.get_file_from_path(to) is None):
            return found["text"]
        if to is None:
            return found[0]  # leads nowhere: the build says so
        return f"[{found['text']}]({posixpath.relpath(to, posixpath.dirname(here) or '.')}{mark}{part})"

    return _PICTURE.sub(r'\g<name>="', _LINK.sub(rewritten, markdown))


def _section(nav: Any, first: str) -> list[Any]:
    """The section of the navigation that begins with this page. Raises LookupError."""
    for entry in nav:
        for inside in entry.values() if isinstance(entry, dict) else ():
            if isinstance(inside, list):
                if inside[:1] == [first]:
                    return inside
                try:
                    return _section(inside, first)
                except LookupError:
                    continue
    raise LookupError(f"no section of the navigation begins with {first}")
