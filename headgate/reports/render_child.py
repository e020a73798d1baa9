"""The process in which a report is made: the basis and the events come in, a file goes out.

It has no connection to the database, no environment and no secret. What hostile text could do to a typesetter happens
here: its memory, the size of its file and its time are limited, and when it dies nothing else does.

In:  the basis, the rows of the chain, an end mark (``headgate.reports.frames``), on stdin.
Out: the file, to the descriptor that the first argument names; then ``made`` on stdout.
The second argument: how large it may be, in bytes. Those after it: fonts of the installation.
"""

import errno
import os
import resource
import sys
from pathlib import Path
from typing import Final

from headgate.kernel.errors import HeadgateError
from headgate.reports.basis import from_document
from headgate.reports.frames import read_document, read_rows
from headgate.reports.make import make_report

_MEMORY_BYTES: Final = 2 << 30


def main() -> None:
    descriptor, most_bytes = int(sys.argv[1]), int(sys.argv[2])
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY_BYTES, _MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (most_bytes, most_bytes))
    os.nice(10)  # a report waits; calls do not
    basis = from_document(read_document(sys.stdin.buffer))
    try:
        with os.fdopen(descriptor, "wb") as file:
            make_report(basis, read_rows(sys.stdin.buffer), file, [Path(one) for one in sys.argv[3:]])
    except HeadgateError as error:
        sys.exit(error.message)
    except OSError as error:
        if error.errno != errno.EFBIG:
            raise
        sys.exit(f"the report is larger than {most_bytes >> 20} MiB: choose a shorter range, or fewer parts")
    sys.stdout.write("made\n")


if __name__ == "__main__":
    main()
