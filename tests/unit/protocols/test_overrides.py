"""Members and headers that replace the method, in every spelling that a server takes for one."""

import pytest

from headgate.kernel.errors import AmbiguousRequestError
from headgate.protocols.body import read_body
from headgate.protocols.overrides import header_variable, refuse_method_override


@pytest.mark.parametrize(
    "name",
    [
        "_method",
        "_METHOD",
        "X-HTTP-Method-Override",
        "x_http_method_override",
        "X-HTTP-Method",
        "X-Method-Override",
        "$httpMethod",
        "_HttpMethod",  # Salesforce
        ".method",  # PHP: dots and spaces become underscores
        " _method",  # and spaces at the start go
        "  .method",
        "_method\0x",  # as does what follows a NUL
        "[_method]",  # Rack 2 and qs
        "_method[]",
        "X.HTTP.Method.Override",
    ],
)
def test_members_that_override_the_method_are_refused(name: str) -> None:
    with pytest.raises(AmbiguousRequestError) as caught:
        refuse_method_override(["a", name], field="body")
    assert caught.value.details == {"field": "body"}


@pytest.mark.parametrize("name", ["method", "merge_method", "-method", "payment.method", "a[_method]", "_methods", ""])
def test_other_members_are_left(name: str) -> None:
    refuse_method_override([name], field="query")


@pytest.mark.parametrize("content_type", ["application/json", "text/plain", None])
def test_an_object_in_json_that_overrides_the_method_is_refused(content_type: str | None) -> None:
    """Laravel reads the members of JSON as those of a form."""
    with pytest.raises(AmbiguousRequestError, match="overrides the method"):
        read_body(b'{"a": 1, "\\u005fmethod": "DELETE"}', content_type, None)


def test_only_members_of_the_whole_body_override() -> None:
    assert read_body(b'{"call": {"_method": "DELETE"}}', "application/json", None).value == {
        "call": {"_method": "DELETE"}
    }
    assert read_body(b'[{"_method": "DELETE"}]', "application/json", None).value == [{"_method": "DELETE"}]


@pytest.mark.parametrize("name", [b"x_api_key", b"X.Api-Key", b"X-API-KEY", b"x|api!key"])
def test_names_of_one_variable_have_one_spelling(name: bytes) -> None:
    assert header_variable(name) == b"x-api-key"
