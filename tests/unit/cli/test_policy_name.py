"""A policy is named by name or id; nothing is done to one of several that have a name."""

from collections.abc import Iterator

import httpx
import pytest

from headgate.cli.api_client import ApiClient
from headgate.cli.policy_name import policy_id_of
from headgate.kernel.errors import NotFoundError, ValidationError
from tests.answering_api import answering_api

FILLING = [(f"pol_f{number}", f"Refunds {number}") for number in range(250)]
POLICIES = [*FILLING, ("pol_1", "Refunds"), ("pol_2", "refunds"), ("pol_3", "Twin"), ("pol_4", "Twin")]


@pytest.fixture
def client() -> Iterator[ApiClient]:
    """An API that finds parts of names, in pages."""

    def answer(request: httpx.Request) -> httpx.Response:
        wanted = request.url.params["name"].lower()
        found = [{"id": one, "name": name} for one, name in POLICIES if wanted in name.lower()]
        offset, limit = int(request.url.params["offset"]), int(request.url.params["limit"])
        return httpx.Response(200, json={"data": found[offset : offset + limit]})

    with answering_api(answer) as client:
        yield client


@pytest.mark.parametrize(
    ("named", "policy_id"), [("pol_9", "pol_9"), ("Refunds", "pol_1"), ("refunds", "pol_2"), ("Refunds 7", "pol_f7")]
)
def test_a_name_stands_for_its_policy(client: ApiClient, named: str, policy_id: str) -> None:
    assert policy_id_of(client, named) == policy_id


def test_a_name_of_several_is_refused_with_their_ids(client: ApiClient) -> None:
    with pytest.raises(ValidationError, match=r"2 policies have the name Twin\. Use an id:\n  pol_3\n  pol_4"):
        policy_id_of(client, "Twin")


@pytest.mark.parametrize("named", ["Refund", "twin", "../policies"])
def test_a_name_that_is_nearly_one_is_none(client: ApiClient, named: str) -> None:
    with pytest.raises(NotFoundError, match="no policy "):
        policy_id_of(client, named)
