"""What docstrings, comments and pages cite is there: pages and files, and sections of semantics.md."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[3]
FOLDERS = ("addons", "admin_api", "benchmarks", "config", "headgate", "proxy", "regorus-py/src", "tests")
SUFFIXES = frozenset({".py", ".rs", ".sql", ".yaml", ".rego"})
SERVED = frozenset({"/skill.md", "/SKILL.md", "SKILL.md"})  # pages of the API's own
PAGE = re.compile(r"[\w./-]+\.md\b")
SECTION = re.compile(r"semantics\.md(?:'s)?[,\s(]+\"([^\"]+)\"")
FILE = re.compile(
    r"\b(?:addons|admin_api|benchmarks|headgate|proxy|(?:regorus-py/)?tests)/[\w/]+\.py\b|\b(?:schema/[\w/]+|\d{4}_\w+)\.sql\b"
)
EXAMPLES = frozenset({"0001_what_it_does.sql"})
COMMENT = re.compile(r"\n\s*(?:#|--|//!?)?\s*")


def _texts() -> dict[str, str]:
    """Each source as one line, so that a citation that is broken across two is whole."""
    files = [file for folder in FOLDERS for file in sorted((ROOT / folder).rglob("*")) if file.suffix in SUFFIXES]
    return {
        str(file.relative_to(ROOT)): COMMENT.sub(" ", file.read_text("utf-8"))
        for file in files
        if file != Path(__file__) and "cases" not in file.parts  # cases are data: paths of somebody's repository
    }


def test_every_page_that_is_named_is_there() -> None:
    folders = ("docs", "regorus-py")
    pages = {file.relative_to(ROOT) for folder in folders for file in (ROOT / folder).rglob("*.md")}
    known = {f"/{page}" for page in (*pages, *(file.name for file in ROOT.glob("*.md")))}
    missing = {
        f"{file}: {page}"
        for file, text in _texts().items()
        for page in PAGE.findall(text)
        if page not in SERVED and not any(one.endswith(f"/{page}") for one in known)
    }
    assert missing == set()


def test_every_file_that_is_named_is_there() -> None:
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    texts = _texts() | {str(page.relative_to(ROOT)): page.read_text("utf-8") for page in pages}
    cited = {(where, file) for where, text in texts.items() for file in FILE.findall(text) if file not in EXAMPLES}
    assert len(cited) > 100
    database = ROOT / "headgate" / "db"
    folders = (ROOT, database, database / "migrations")
    assert {one for one in cited if not any((folder / one[1]).exists() for folder in folders)} == set()


def test_every_section_that_is_named_is_there() -> None:
    page = (ROOT / "docs" / "reference" / "semantics.md").read_text("utf-8")
    sections = set(re.findall(r"^## (.+)$", page, re.MULTILINE))
    cited = {(file, section) for file, text in _texts().items() for section in SECTION.findall(text)}
    assert len(cited) > 20
    assert {(file, section) for file, section in cited if section not in sections} == set()
