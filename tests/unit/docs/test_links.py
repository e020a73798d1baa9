"""Every link between pages leads somewhere, and a reader who begins at README gets to every page."""

import re
from pathlib import Path
from urllib.parse import unquote

ROOT = Path(__file__).parents[3]
LINK = re.compile(r"\]\(([^()\s]+)\)")
CODE = re.compile(r"^```.*?^```|`[^`\n]*`", re.MULTILINE | re.DOTALL)
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
NOT_A_LETTER = re.compile(r"[^\w\- ]")
START = ROOT / "README.md"


def _pages() -> list[Path]:
    return [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]


def _links(page: Path) -> set[tuple[Path, str]]:
    """Links within the repository: the file, and the part of it."""
    found: set[tuple[Path, str]] = set()
    for link in LINK.findall(CODE.sub("", page.read_text("utf-8"))):
        if "://" not in link and not link.startswith("mailto:"):
            path, _, part = unquote(link).partition("#")
            found.add(((page.parent / path).resolve() if path else page, part))
    return found


def _anchors(page: Path) -> set[str]:
    """As GitHub makes them of headings: lower case, no punctuation, a hyphen for each space."""
    return {NOT_A_LETTER.sub("", one.lower()).replace(" ", "-") for one in HEADING.findall(page.read_text("utf-8"))}


def test_every_link_leads_somewhere() -> None:
    dead = {
        f"{page.relative_to(ROOT)}: {path.name}#{part}"
        for page in _pages()
        for path, part in _links(page)
        if not path.exists() or (part and path.suffix == ".md" and part not in _anchors(path))
    }
    assert dead == set()


def test_every_page_is_reached_from_the_first() -> None:
    reached, waiting = {START}, [START]
    while waiting:
        for path, _ in _links(waiting.pop()):
            if path.suffix == ".md" and path.exists() and path not in reached:
                reached.add(path)
                waiting.append(path)
    lost = {str(page.relative_to(ROOT)) for page in (ROOT / "docs").rglob("*.md")} - {
        str(page.relative_to(ROOT)) for page in reached if page.is_relative_to(ROOT)
    }
    assert lost == set()
