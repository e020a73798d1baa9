"""The same words, however a platform writes them; and nothing else."""

import pytest

from headgate.integrations.jira.api import document_of, ticket_of
from headgate.integrations.linear.api import inert
from headgate.integrations.model import Request
from headgate.integrations.plain_texts import same_texts

_TEXT = 'Agent: a_b\n\nParameters:\n{\n  "path": "C:\\\\x *.txt"\n}'


def _document(written: str, **first: object) -> dict[str, object]:
    """As Jira gives one back: each node with an identifier of its own."""
    document = document_of(written)
    for paragraph in document["content"]:  # type: ignore[union-attr]
        paragraph["attrs"] = {"localId": "1"}  # type: ignore[call-overload, index]
    document["content"][0]["content"][0].update(first)  # type: ignore[index, union-attr, call-overload]
    return document


def _ticket(link: str, params: str = '{\n  "to": "a"\n}', **first: object) -> dict[str, object]:
    """As it is written, with a link and a block of code; ``first`` changes the link's text."""
    document = ticket_of(Request("apr_1", "http.post", "Agent: a_b", params, link))
    document["content"][1]["content"][0].update(first)  # type: ignore[index, union-attr, call-overload]
    return document


@pytest.mark.parametrize(
    ("found", "meant", "markdown"),
    [
        (_TEXT, _TEXT, False),
        (_TEXT.replace("\n", "\r\n"), _TEXT, False),
        (_TEXT + "\n", _TEXT, False),
        (inert(_TEXT).replace("  \n", "\\\n"), inert(_TEXT), True),
        (inert(_TEXT).replace("a\\_b", "a_b"), inert(_TEXT), True),
        (_document(_TEXT), document_of(_TEXT), False),
        (_ticket("https://a.example"), _ticket("https://a.example"), False),
    ],
)
def test_the_same(found, meant, markdown: bool) -> None:
    assert same_texts(["title", found], ["title", meant], markdown=markdown)


@pytest.mark.parametrize(
    ("found", "meant", "markdown"),
    [
        (_TEXT.replace("a_b", "a_ b"), _TEXT, False),
        (_TEXT.replace("\\\\", "\\"), _TEXT, False),
        (inert(_TEXT).replace("\\\\\\\\", "\\\\"), inert(_TEXT), True),
        ("~~x~~", inert("~~x~~"), True),
        ("[x](https://a.example)", inert("[x](https://a.example)"), True),
        ("_x_", inert("_x_"), True),
        ("a*b*", inert("a*b*"), True),
        (_document(_TEXT, text="Agent: a_c"), document_of(_TEXT), False),
        (_document(_TEXT, marks=[{"type": "strike"}]), document_of(_TEXT), False),
        (_document(_TEXT, type="mention"), document_of(_TEXT), False),
        (_ticket("https://b.example"), _ticket("https://a.example"), False),
        (_ticket("https://a.example", '{\n  "to": "b"\n}'), _ticket("https://a.example"), False),
        (_ticket("https://a.example", marks=[]), _ticket("https://a.example"), False),
        (_ticket("https://a.example", marks=["link"]), _ticket("https://a.example"), False),
        (_ticket("https://a.example", marks={"type": "strike"}), _ticket("https://a.example"), False),
        (None, document_of(_TEXT), False),
        (None, None, False),
    ],
)
def test_not_the_same(found, meant, markdown: bool) -> None:
    assert not same_texts(["title", found], ["title", meant], markdown=markdown)
    assert not same_texts(["title"], ["title", meant], markdown=markdown)
