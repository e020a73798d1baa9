"""Signs requests to AWS: credentials from the chain of all AWS SDKs, and Signature Version 4, both by botocore.

The chain has the environment, the shared files, web identities (Kubernetes), containers and the instance's metadata
service (AWS SDKs and Tools Reference Guide, "Standardized credential providers"). The client of botocore is not used:
it would load the descriptions of all services, and has no deadline for a whole exchange.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from headgate.kernel.errors import UnavailableError
from headgate.kernel.extras import importing

if TYPE_CHECKING:
    from botocore.session import Session


class AwsSigner:
    """Keeps credentials until ``forget``; botocore renews those that expire. Methods block, and may use the network:
    call them in a thread. All but ``forget`` raise MissingExtraError without botocore."""

    def __init__(self) -> None:
        self._session: Session | None = None

    def region(self) -> str | None:
        """The region of the shared configuration file. Raises UnavailableError: the file cannot be read, or has no such
        profile."""
        with importing("awskms", "keys in AWS KMS"):
            from botocore.exceptions import BotoCoreError  # noqa: PLC0415 - of an extra

        try:
            found = self._opened().get_config_variable("region")
        except BotoCoreError as error:
            raise UnavailableError(
                f"the AWS configuration cannot be read ({type(error).__name__}): correct AWS_PROFILE or AWS_CONFIG_FILE"
            ) from error
        return found if isinstance(found, str) else None

    def signed(self, url: str, region: str, headers: Mapping[str, str], content: bytes) -> dict[str, str]:
        """Returns ``headers`` with the date, the session token and the authorization. Raises UnavailableError."""
        with importing("awskms", "keys in AWS KMS"):
            from botocore.auth import SigV4Auth  # noqa: PLC0415 - of an extra
            from botocore.awsrequest import AWSRequest  # noqa: PLC0415
            from botocore.exceptions import BotoCoreError  # noqa: PLC0415

        try:
            credentials = self._opened().get_credentials()
            frozen = None if credentials is None else credentials.get_frozen_credentials()
        except BotoCoreError as error:
            raise UnavailableError(
                f"no AWS credentials ({type(error).__name__}): correct AWS_PROFILE or their source"
            ) from error
        if frozen is None:
            raise UnavailableError(
                "no AWS credentials: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or run with a role"
            )
        request = AWSRequest("POST", url, headers=dict(headers), data=content)
        SigV4Auth(frozen, "kms", region).add_auth(request)
        return dict(request.headers.items())

    def forget(self) -> None:
        """Drops the credentials, after a refusal. The next request reads the chain again."""
        self._session = None

    def _opened(self) -> "Session":
        session = self._session  # another thread may forget it meanwhile
        if session is None:
            with importing("awskms", "keys in AWS KMS"):
                from botocore.session import Session  # noqa: PLC0415 - of an extra

            session = self._session = Session()
        return session
