"""Memory for bodies: all of it, an address' quarter, an organization's half."""

import pytest

from admin_api.body_budget import BodyBudget
from headgate.kernel.errors import UnavailableError


def test_an_address_has_a_quarter_until_its_requests_end() -> None:
    budget = BodyBudget(100, largest=10)
    first, second, elsewhere = (budget.charge_for(one) for one in ("a", "a", "b"))
    assert (first.keeps(20), second.keeps(5), second.keeps(1), elsewhere.keeps(25)) == (True, True, False, True)
    assert not second.keeps(0)  # what was refused stays so: its beginning is missing
    with pytest.raises(UnavailableError, match="of your address take all of the 25 bytes"):
        second.require_kept()
    first.require_kept()
    first.release()
    first.release()
    assert budget.charge_for("a").keeps(20)
    assert not first.keeps(1)


def test_an_organization_has_half_wherever_it_comes_from() -> None:
    budget = BodyBudget(100, largest=10)
    charges = [budget.charge_for(f"address {number}") for number in range(3)]
    for one in charges:
        assert one.keeps(20)
    charges[0].is_of("org")
    charges[1].is_of("org")
    assert budget.charge_for("address 0").keeps(25)
    with pytest.raises(UnavailableError, match="of your organization take all of the 50 bytes"):
        charges[2].is_of("org")


def test_all_together_have_the_whole() -> None:
    budget = BodyBudget(100, largest=10)
    behind_a_proxy = budget.charge_for(None)
    assert behind_a_proxy.keeps(90)
    full = budget.charge_for("a")
    assert not full.keeps(11)
    with pytest.raises(UnavailableError, match="of this process take all of the 100 bytes"):
        full.require_kept()
    behind_a_proxy.is_from("b")
    with pytest.raises(UnavailableError, match="of your address"):
        behind_a_proxy.require_kept()


@pytest.mark.parametrize("most", [5, 20])
def test_one_body_fits_in_any_case(most: int) -> None:
    assert BodyBudget(most, largest=10).charge_for("a").keeps(10)
