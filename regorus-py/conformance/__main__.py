"""``python -m conformance``: evaluates all cases and says how many pass.

``--write`` writes the table and the page; ``--check`` ends with 1 where they are not what the cases come to.
"""

import argparse
import sys

from conformance.cases import fetch, load
from conformance.outcome import run
from conformance.table import PAGE, TABLE, counts, page, row, write_table


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m conformance", description=(__doc__ or "").splitlines()[0])
    choice = parser.add_mutually_exclusive_group()
    choice.add_argument("--write", action="store_true")
    choice.add_argument("--check", action="store_true")
    arguments = parser.parse_args()
    rows = [row(run(case)) for case in load(fetch())]
    table, text = write_table(rows), page(rows)
    sys.stdout.write(f"{counts(rows)}\n")
    if arguments.write:
        TABLE.write_text(table)
        PAGE.write_text(text)
    if arguments.check and (TABLE.read_text() != table or PAGE.read_text() != text):
        old = set(TABLE.read_text().splitlines())
        changed = [line for line in table.splitlines() if line not in old]
        sys.stdout.write("\n".join(["these differ from the table:", *changed[:40], ""]))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
