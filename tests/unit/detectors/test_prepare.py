"""What is made once is not the first call's time: its bounds hold for it as for every other."""

import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from headgate.configuration.resources import resource_path
from headgate.configuration.yaml_document import Section, read_document
from headgate.detectors import prepare as prepared
from headgate.detectors import secret_formats
from headgate.detectors.mask import mask_secrets


@pytest.fixture
def cold() -> Iterator[None]:
    """As in a new process."""
    prepared._prepare.cache_clear()
    secret_formats.secret_formats.cache_clear()
    yield
    prepared.prepare()


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


@pytest.mark.usefixtures("cold")
def test_a_burst_of_first_calls_reads_the_lists_once(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []

    def counted(path: object) -> Section:
        read.append(str(path))
        return read_document(path)  # type: ignore[arg-type]

    monkeypatch.setattr(secret_formats, "read_document", counted)
    with ThreadPoolExecutor(8) as pool:
        masked = list(pool.map(mask_secrets, ["token ghp_0123456789abcdefghijABCDEFGHIJ012345"] * 16))
    assert len({str(one) for one in masked}) == 1
    assert read == [str(resource_path("detectors", name)) for name in ("secrets.yaml", "gitleaks.yaml")]
