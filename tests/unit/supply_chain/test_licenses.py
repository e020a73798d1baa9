"""Which license texts are passed on, and that no package comes without a license."""

from dataclasses import replace
from pathlib import Path

import pytest

from supply_chain.license_texts import NoTextError, texts_of
from supply_chain.licenses import read_licenses
from supply_chain.python_packages import UnknownLicenseError, python_packages

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def package(tmp_path: Path) -> Path:
    for name in ("LICENSE-MIT", "LICENSE-APACHE", "NOTICE", "README.md"):
        (tmp_path / name).write_text(f"{name} of the package\n")
    return tmp_path


@pytest.mark.parametrize(
    ("license_", "files"),
    [
        ("MIT", ["LICENSE-APACHE", "LICENSE-MIT", "NOTICE"]),
        ("MIT OR Apache-2.0", ["NOTICE"]),
        ("Apache-2.0", ["NOTICE"]),
        ("(MIT OR Apache-2.0) AND Unicode-3.0", ["LICENSE-APACHE", "LICENSE-MIT", "NOTICE"]),
    ],
)
def test_the_texts_that_a_license_requires(package: Path, license_: str, files: list[str]) -> None:
    assert [one.file for one in texts_of(package, license_, "one", "")] == files


def test_a_text_that_lies_elsewhere(package: Path) -> None:
    (package / "c").mkdir()
    (package / "c" / "LICENSE").write_text("of the part in C")
    [text] = texts_of(package, "MIT", "one", "", "c/LICENSE")
    assert text.text == "of the part in C\n"


def test_a_package_under_mit_without_a_text_gets_its_words(tmp_path: Path) -> None:
    [text] = texts_of(tmp_path, "MIT", "one", "Ada")
    assert text.text.startswith("Copyright (c) Ada\n\nPermission is hereby granted, free of charge,")
    [text] = texts_of(tmp_path, "MIT", "one", "")
    assert text.text.startswith("Copyright (c) the authors of one\n")


def test_another_license_without_a_text_is_refused(tmp_path: Path) -> None:
    with pytest.raises(NoTextError, match="one: a package under BSD-3-Clause without a license text"):
        texts_of(tmp_path, "BSD-3-Clause", "one", "Ada")


def test_a_package_whose_license_nobody_named_is_found() -> None:
    licenses = read_licenses()
    without = {name: license_ for name, license_ in licenses.python.items() if name != "jinja2"}
    with pytest.raises(UnknownLicenseError, match=r"^jinja2: .*add it to licenses\.yaml"):
        list(python_packages(replace(licenses, python=without)))


def test_the_file_of_licenses_names_locked_packages_and_files_that_are_there() -> None:
    licenses = read_licenses()
    assert set(licenses.python) <= {one.name for one in python_packages(licenses)}
    assert all("icense" in (ROOT / one.path).read_text("utf-8")[:1000] for one in licenses.data)
