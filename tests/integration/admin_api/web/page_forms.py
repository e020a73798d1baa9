"""The forms that a page shows, as a browser would send them."""

from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Final

# What a person might type where a field is empty.
_TYPED: Final = {"number": "1", "email": "x@example.com", "date": "2026-11-24", "datetime-local": "2026-11-24T10:00"}


@dataclass
class PageForm:
    """``buttons``: name and value of each, one of which is sent."""

    action: str
    fields: list[tuple[str, str]] = field(default_factory=list)
    buttons: list[tuple[str, str]] = field(default_factory=list)

    @property
    def ways(self) -> list[dict[str, list[str]]]:
        """What is sent with each of its buttons; only one of several checkboxes and choices of a name."""
        bodies = []
        for button in self.buttons or [("", "")]:
            body: dict[str, list[str]] = {}
            for name, value in [*self.fields, button]:
                if name:
                    body.setdefault(name, [value])
            bodies.append(body)
        return bodies


class _Forms(HTMLParser):
    def __init__(self, page: str) -> None:
        super().__init__()
        self.page = page
        self.found: list[PageForm] = []
        self.form: PageForm | None = None
        self.text: str | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if tag == "form":
            self.form = PageForm(given.get("action", self.page)) if given.get("method") == "post" else None
            if self.form is not None:
                self.found.append(self.form)
        elif self.form is not None:
            self._control(tag, given)

    def _control(self, tag: str, given: dict[str, str]) -> None:
        assert self.form is not None
        name, value, kind = given.get("name", ""), given.get("value", ""), given.get("type", "")
        if tag == "button":
            self.form.buttons.append((name, value))
        elif tag == "input":
            typed = _TYPED.get(kind, "why") if kind not in ("hidden", "checkbox", "radio") else "on"
            self.form.fields.append((name, value if value or kind == "hidden" else typed))
        elif tag in ("textarea", "select"):
            self.text = name
            if tag == "textarea":
                self.form.fields.append((name, "why"))
        elif tag == "option" and self.text and value:
            self.form.fields.append((self.text, value))

    def handle_endtag(self, tag: str) -> None:
        if tag == "form":
            self.form = None


def forms_of(page: str, html: str) -> list[PageForm]:
    """Those that change something. ``page``: its address."""
    parser = _Forms(page)
    parser.feed(html)
    return parser.found
