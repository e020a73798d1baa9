"""Names that servers read as others, in queries, forms and parts."""

from time import monotonic

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
        "account%5Brole%5D.x=evil",
        "account[role]=good&account[role].x=evil",
        "account[].x=evil",
        "account[x0].y=evil",
        "account[0][role].x=evil",
        "user[role]=good&user[role][]=evil",
        "user[role][x]=evil&user[role]=good",
        "user=good&user.a[b]=1&user[role][x]=evil",
        "items[0]=good&items[0].name=evil",
        "items[0].name=good&items[0][name]=evil",
        "items[0][1]=good&items[0][1].name=evil",
        "items[0].a=1&items[0][1].b=evil",
        "items[0].a=1&items[0].a.b=evil",
        "user_name=good&user.name=evil",
        "user_name=good&user+name=evil",
        "user.name=good&user%20name=evil",
        "user_name=good&user.name[x]=evil",
        "user_name[x]=good&user.name[x]=evil",
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


def test_the_message_names_both_members() -> None:
    with pytest.raises(AmbiguousRequestError, match=r"'a\[b\]'.* 'a\[b\]\[c\]'"):
        parse_pairs("a[b]=1&a[b][c]=2", field="query")


@pytest.mark.parametrize(
    "text",
    [
        # Solr and Amazon CloudSearch; OpenID 2.0; .NET and Spring; qs, PHP and Rails.
        "q=star&q.parser=structured&q.op=AND&facet=true&facet.field=a",
        "openid.mode=id_res&openid.ns=x&user_name=x&user.id=y",
        "items[0].name=a&items[0].price=1&items[1].name=b&items[10].name=c&items[0].tags[0]=x&items[0].tags[1]=y",
        "a[b]=1&a[bc]=2&a[b]=3&ab[c]=4&a[d][]=5&a[d][]=6",
    ],
)
def test_names_side_by_side_that_clients_send_are_left(text: str) -> None:
    assert "&".join(f"{name}={value}" for name, value in parse_pairs(text, field="query")) == text


@pytest.mark.parametrize("name", ["a" + "[b]" * 300_000, "a[0]" + ".b" * 300_000, "a" + "[0].b" * 200_000])
def test_long_names_are_read_in_time_that_grows_with_their_length(name: str) -> None:
    started = monotonic()
    assert parse_pairs(f"{name}=1", field="query") == ((name, "1"),)
    assert monotonic() - started < 2


@pytest.mark.parametrize(
    "name",
    [
        "account",
        "expand[]",
        "metadata[order]",
        "items[0][price]",
        "columns[0][search][value]",
        "items[0].name",
        "a[0].b[12].c",
        "a[0].b.c",
        "a[0].b[c]",
        "page.size",
        "a.b[c]",
        "",
    ],
)
def test_names_that_clients_send_are_left(name: str) -> None:
    assert parse_pairs(f"{name}=1&z=%41", field="query") == ((name, "1"), ("z", "A"))
