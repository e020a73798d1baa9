"""No lock is below a committed floor, and one that is would be found."""

from pathlib import Path

import pytest
from packaging.version import Version

from supply_chain.floors import (
    CARGO_LOCK,
    FLOORS,
    PYTHON_LOCKS,
    ROOT,
    Finding,
    Locked,
    below_floors,
    read_floors,
    read_locks,
)


def test_no_lock_is_below_a_floor() -> None:
    assert [str(one) for one in below_floors(read_locks(), read_floors())] == []


def test_every_lock_is_read() -> None:
    read = {(one.lock, one.package) for one in read_locks()}
    assert {lock for lock, _ in read} == {*PYTHON_LOCKS, CARGO_LOCK}
    assert {("requirements.lock", "h2"), ("requirements-dev.lock", "pytest"), (CARGO_LOCK, "regorus")} <= read
    for lock in PYTHON_LOCKS:
        pinned = [line for line in (ROOT / lock).read_text().splitlines() if "==" in line and line[0] not in " #"]
        assert len(pinned) == len([one for one in read_locks() if one.lock == lock])


def test_a_lock_below_its_floor_is_found(tmp_path: Path) -> None:
    for lock in PYTHON_LOCKS:
        (tmp_path / lock).write_text("# no package\n")
    (tmp_path / "requirements.lock").write_text(
        "H2==4.3.0 \\\n    --hash=sha256:00\ntornado==6.5.10 ; python_version < '4' \\\n    --hash=sha256:00\n"
    )
    (tmp_path / "regorus-py").mkdir()
    (tmp_path / CARGO_LOCK).write_text(
        '[[package]]\nname = "spin"\nversion = "0.9.1"\nsource = "registry"\n'
        '[[package]]\nname = "shlex"\nversion = "0.1.0"\n'  # without a source: ours
    )
    h2 = Locked("python", "h2", "4.3.0", "requirements.lock")
    found = list(below_floors(read_locks(tmp_path), read_floors()))
    assert found == [
        Finding(h2, "4.4.1", "CVE-2026-71554 (GHSA-6hr6-w5qg-qmwg)"),
        Finding(Locked("rust", "spin", "0.9.1", CARGO_LOCK), "0.9.8", "RUSTSEC-2023-0031"),
    ]
    assert str(found[0]) == (
        "requirements.lock: h2 4.3.0 has CVE-2026-71554 (GHSA-6hr6-w5qg-qmwg); lock 4.4.1 or later"
    )


def test_floors_are_versions_named_once() -> None:
    floors = read_floors()
    assert len({(one.ecosystem, one.package) for one in floors}) == len(floors)
    assert {one.ecosystem for one in floors} == {"python", "rust"}
    assert all(Version(one.lowest_safe) and one.advisory for one in floors)


def test_a_row_with_another_member_is_refused(tmp_path: Path) -> None:
    (tmp_path / "supply_chain").mkdir()
    (tmp_path / FLOORS).write_text("python:\n  - {package: h2, lowest: 4.4.1, advisory: CVE-2026-71554}\n")
    with pytest.raises(TypeError, match="lowest"):
        read_floors(tmp_path)


def test_all_locks_have_one_version_of_a_package() -> None:
    """They are installed together, and ``make wheels`` writes them into one file of constraints.

    The agent frameworks of the tests have an environment of their own.
    """
    versions: dict[str, set[str]] = {}
    for one in read_locks():
        if one.ecosystem == "python" and one.lock != "requirements-frameworks.lock":
            versions.setdefault(one.package, set()).add(one.version)
    assert {package: found for package, found in versions.items() if len(found) > 1} == {}
