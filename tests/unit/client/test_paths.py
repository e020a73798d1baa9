"""An identifier that came from elsewhere is one part of a path, and never another path."""

import httpx
import pytest

from headgate.client import operations


@pytest.mark.parametrize("text", ["", ".", ".."])
def test_what_would_name_another_resource(text: str) -> None:
    """``DELETE /admin/agents/..`` is ``DELETE /admin`` to a client, and ``/admin/agents/`` the list."""
    with pytest.raises(ValueError, match="names no resource"):
        operations.delete_agent(text)


@pytest.mark.parametrize("path", ["../keys", "a/../../keys", "a//b", "/a", "a/"])
def test_a_path_goes_down_alone(path: str) -> None:
    with pytest.raises(ValueError, match="names no resource"):
        operations.delete_policies_data(path)


def test_everything_else_is_text() -> None:
    with httpx.Client(base_url="http://api") as client:
        for text in ("a/b", "a?b=c", "a#b", "...", "%2e%2e", "a b", "é"):
            call = operations.get_agent(text)
            url = client.build_request("GET", call.path).url
            assert url.raw_path.count(b"/") == 3
            assert httpx.URL(url).path == f"/admin/agents/{text}"
