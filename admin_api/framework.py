"""The web framework, loaded without the models of its description of an interface (``fastapi.openapi.models``).

Only ``/openapi.json`` needs them. Building their validators took a thirtieth of a start, and 3 MiB.
"""

from importlib import import_module

import pydantic


def load_framework() -> None:
    """To be called before anything imports FastAPI: afterwards its models exist. Those of others are built as ever."""
    before = pydantic.BaseModel.model_config
    pydantic.BaseModel.model_config = pydantic.ConfigDict(defer_build=True)
    try:
        import_module("fastapi")
    finally:
        pydantic.BaseModel.model_config = before
