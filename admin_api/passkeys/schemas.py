"""Bodies about passkeys. Options and responses are as WebAuthn Level 3 writes them in JSON (section 5.1.8)."""

from datetime import datetime

from pydantic import ConfigDict, Field, JsonValue

from admin_api.schema import BaseModel
from headgate.passkeys.model import Passkey


class PasskeyOptions(BaseModel):
    """For ``PublicKeyCredential.parseCreationOptionsFromJSON`` or ``parseRequestOptionsFromJSON``."""

    public_key: dict[str, JsonValue] = Field(description="Contains a challenge that is valid once, for 5 minutes")


class NewPasskeyBody(BaseModel):
    model_config = ConfigDict(extra="forbid")

    name: str = Field(min_length=1, max_length=64, description="The person's name for it", examples=["Laptop"])
    response: dict[str, JsonValue] = Field(description="``PublicKeyCredential.toJSON()``")


class PasskeyAnswer(BaseModel):
    id: str
    name: str
    created_at: datetime
    last_used_at: datetime | None


class PasskeysAnswer(BaseModel):
    """Oldest first."""

    data: list[PasskeyAnswer]


class InvitedBody(BaseModel):
    model_config = ConfigDict(extra="forbid")

    invitation: str = Field(min_length=1, max_length=128, description="The secret of the invitation's link")


def passkey_answer(passkey: Passkey) -> PasskeyAnswer:
    return PasskeyAnswer(
        id=passkey.passkey_id, name=passkey.name, created_at=passkey.created_at, last_used_at=passkey.last_used_at
    )
