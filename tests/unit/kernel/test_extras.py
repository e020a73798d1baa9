"""A missing extra is named; any other missing module is a fault of ours."""

import pytest

from headgate.kernel.extras import MissingExtraError, importing


def test_a_missing_package_names_its_extra() -> None:
    with pytest.raises(MissingExtraError) as raised, importing("reports", "PDF reports"):
        raise ModuleNotFoundError("No module named 'typst'", name="typst")
    assert raised.value.message == (
        "PDF reports need the extra reports, which is not installed here. Install it where this process runs:"
        " pip install 'headgate[reports]'"
    )


def test_another_missing_module_is_not_hidden() -> None:
    with pytest.raises(ModuleNotFoundError, match="nowhere"), importing("reports", "PDF reports"):
        raise ModuleNotFoundError("No module named 'nowhere'", name="nowhere")
