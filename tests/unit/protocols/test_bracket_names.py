"""Names that servers read as others, in queries, forms and parts."""

import pytest

from headgate.kernel.errors import AmbiguousRequestError
from headgate.protocols.body import read_body
from headgate.protocols.query import parse_pairs

_FORM = "application/x-www-form-urlencoded"


@pytest.mark.parametrize(
    "text",
    [
        "%5Baccount%5D=evil",
        "[account]=evil",
        "account=good&%5Baccount%5D=evil",
        "%5Daccount=evil",
        "account%5D=evil",
        "account%5B=evil",
        "account%5Bx=evil",
        "account%5B%5Bx%5D%5D=evil",
        "account%5Bx%5Dy=evil",
        "account=good&account%5B%5D=evil",
        "account%5Bx%5D=evil&account=good",
        "account%5Bx%5D.%5By%5D=evil",
        "%20account=evil",
        "+account=evil",
        "account%00x=evil",
        "%5B%5D=evil",
        "account=good]=evil",
        "account=a%5bb%5d=evil",
    ],
)
def test_names_that_servers_read_as_others_are_refused(text: str) -> None:
    with pytest.raises(AmbiguousRequestError) as caught:
        parse_pairs(text, field="query")
    assert caught.value.details == {"field": "query"}
    with pytest.raises(AmbiguousRequestError):
        read_body(text.encode(), _FORM, None)


@pytest.mark.parametrize("name", ["[account]", "account]", "account["])
def test_so_are_those_of_parts(name: str) -> None:
    part = f'--x\r\nContent-Disposition: form-data; name="{name}"\r\n\r\nevil\r\n--x--\r\n'
    with pytest.raises(AmbiguousRequestError, match="brackets"):
        read_body(part.encode(), "multipart/form-data; boundary=x", None)


@pytest.mark.parametrize(
    "name",
    [
        "account",
        "expand[]",
        "metadata[order]",
        "items[0][price]",
        "columns[0][search][value]",
        "items[0].name",
        "a[b].c[d].e",
        "page.size",
        "",
    ],
)
def test_names_that_clients_send_are_left(name: str) -> None:
    assert parse_pairs(f"{name}=1&z=%41", field="query") == ((name, "1"), ("z", "A"))
