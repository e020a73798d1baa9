"""Everything that an installation of Headgate holds besides its own code."""

from pathlib import Path

from supply_chain.component import Component, in_order
from supply_chain.floors import ROOT
from supply_chain.licenses import Licenses, read_licenses
from supply_chain.npm_packages import npm_packages
from supply_chain.python_packages import python_packages
from supply_chain.rust_crates import rust_crates
from supply_chain.servers import servers


def inventory(licenses: Licenses | None = None, root: Path = ROOT) -> tuple[Component, ...]:
    """Raises what the four readers raise."""
    licenses = licenses or read_licenses()
    return in_order(
        [*python_packages(licenses, root), *rust_crates(licenses, root), *npm_packages(root), *servers(licenses)]
    )
