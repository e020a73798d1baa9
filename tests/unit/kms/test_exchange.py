"""A malformed header is refused before the request is sent, with an error that does not show its value."""

import pytest
from msgspec.structs import replace

from headgate.kernel.errors import UnavailableError
from headgate.kernel.secrets import Secret
from headgate.kms.access import KmsAccess
from headgate.kms.key_address import TransitKey
from headgate.kms.transit import Transit

_ACCESS = KmsAccess(vault_address="http://127.0.0.1:9", vault_token=Secret("hvs.token"))


@pytest.mark.parametrize(
    ("access", "header"),
    [
        (replace(_ACCESS, vault_token=Secret("hvs.token\n")), "x-vault-token"),
        (replace(_ACCESS, vault_token=Secret("hvs.tokén")), "x-vault-token"),
        (replace(_ACCESS, vault_namespace="team\r\na"), "x-vault-namespace"),
    ],
)
async def test_a_header_that_cannot_be_sent_is_named_and_not_shown(access: KmsAccess, header: str) -> None:
    with pytest.raises(UnavailableError, match=f"the header {header} for 127\\.0\\.0\\.1 has a line end") as refused:
        await Transit(access).decrypt(TransitKey("master"), "vault:v1:AA==", {})
    assert "hvs" not in refused.value.message
