"""The stand-in for language-model providers, beside the API."""

from tests.integration.judges.conftest import model_server, model_server_process

__all__ = ["model_server", "model_server_process"]
