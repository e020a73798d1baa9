"""A report as one HTML file that needs nothing else: no script, no font, no picture from anywhere.

Values are escaped (autoescape), a name that is not there is an error (StrictUndefined), characters that hide or reorder
text are written out. Its own Content-Security-Policy allows one style sheet, by its hash, and nothing else.
"""

import base64
from hashlib import sha256
from pathlib import Path
from typing import Final

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from headgate.kernel.visible_text import visible
from headgate.reports.blocks import ReportDocument

_TEMPLATES: Final = Path(__file__).parent / "templates"


def _shown(value: object) -> object:
    return visible(value, kept="\n") if type(value) is str else value


def render_html(document: ReportDocument) -> bytes:
    environment = Environment(
        loader=FileSystemLoader(_TEMPLATES), autoescape=True, undefined=StrictUndefined, finalize=_shown,
        trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    style = (_TEMPLATES / "report.css").read_text("utf-8")
    digest = base64.b64encode(sha256(style.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    rendered = environment.get_template("report.html").render(
        document=document,
        style=Markup(style),  # noqa: S704 - a file of this package
        policy=policy,
        drawn=Markup,  # for charts only, which escape every name in them
    )
    return rendered.encode()
