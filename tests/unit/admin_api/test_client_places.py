"""Connections of one process: all of them, those of an address, and those that are turned away."""

import pytest

from admin_api import client_places
from admin_api.client_places import ClientPlaces
from headgate.kernel.errors import UnavailableError


def test_an_address_has_its_share_and_all_have_the_whole() -> None:
    places = ClientPlaces(3, 2)
    for address in ("a", "a", None):
        assert places.refusal(address) is None
        places.enter(address)
    assert "This process has 3" in str(places.refusal("b"))
    places.leave(None)
    assert "Your address has 2" in str(places.refusal("a"))
    assert places.refusal("b") is None
    places.leave("a")
    assert places.refusal("a") is None


def test_a_request_through_a_proxy_counts_for_its_address() -> None:
    places = ClientPlaces(3, 1)
    with places.request_from("a"), places.request_from("b"):
        with pytest.raises(UnavailableError, match="Your address has 1"), places.request_from("a"):
            pass
        assert places.refusal("a") is not None
    with places.request_from("a"):
        pass


def test_so_many_are_told_why_they_are_turned_away(monkeypatch) -> None:
    monkeypatch.setattr(client_places, "TURNED_AWAY_AT_ONCE", 1)
    places = ClientPlaces()
    assert (places.turn_away(), places.turn_away()) == (True, False)
    places.turned_away()
    assert places.turn_away()
