"""What is made once is not the first call's time: its bounds hold for it as for every other."""

import subprocess
import sys


def test_the_first_inspection_of_a_process_is_within_its_bounds() -> None:
    program = (
        "from headgate.detectors.inspect import inspect\n"
        "from headgate.detectors.limits import Limits\n"
        "from headgate.detectors.personal_data import find_personal_data\n"
        "from headgate.detectors.secrets import find_secrets\n"
        "result = inspect('é mail a@example.org', [find_secrets, find_personal_data], Limits(seconds_max=0.1))\n"
        "assert result.complete and result.kinds == ('email',), result\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr
