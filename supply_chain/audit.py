"""``make audit``: are known advisories in what the locks install?"""

import sys

from supply_chain.advisories import NotAskedError, ask_python, ask_rust
from supply_chain.floors import FLOORS, Finding, below_floors, read_floors, read_locks


def audit() -> list[Finding]:
    """Everything that is found; says on standard output what could be asked."""
    locked = tuple(read_locks())
    findings = list(below_floors(locked, read_floors()))
    print(f"{len(locked)} locked packages compared with {FLOORS}: {len(findings)} below a floor")
    for database, ask in (("Python", ask_python), ("Rust", ask_rust)):
        try:
            found = ask()
        except NotAskedError as reason:
            print(f"the {database} advisory database was not asked, only the floors count: {reason}")
        else:
            print(f"the {database} advisory database names {len(found)} of the locked packages")
            findings += found
    return findings


def main() -> int:
    findings = audit()
    for finding in findings:
        print(finding, file=sys.stderr)
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
