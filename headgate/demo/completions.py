"""The SDKs by which the demonstration's agent asks a model, where they are installed."""

from typing import Final

from msgspec import Struct


class Completion(Struct, frozen=True):
    """``module`` prints one streamed completion. ``variable``: prefix of the SDK's variables; ``path``: of its API."""

    package: str
    module: str
    variable: str
    path: str

    def environment(self, url: str) -> dict[str, str]:
        """Variable → value, for the provider at ``url``."""
        return {f"{self.variable}_BASE_URL": url + self.path, f"{self.variable}_API_KEY": "demonstration"}


COMPLETIONS: Final = (
    Completion("openai", "headgate.demo.completion_openai", "OPENAI", "/v1"),
    Completion("anthropic", "headgate.demo.completion_anthropic", "ANTHROPIC", ""),
)
