"""No error of botocore leaves the adapter."""

import pytest

from headgate.kernel.errors import UnavailableError
from headgate.kms.access import KmsAccess
from headgate.kms.aws_kms import AwsKms
from headgate.kms.key_address import AwsKey


async def test_a_profile_that_does_not_exist_is_an_error_of_the_configuration(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_PROFILE", "absent")
    monkeypatch.setenv("AWS_CONFIG_FILE", "/dev/null")
    with pytest.raises(UnavailableError, match=r"cannot be read \(ProfileNotFound\): correct AWS_PROFILE"):
        await AwsKms(KmsAccess()).decrypt(AwsKey("alias/a", None), "AA==", {})
