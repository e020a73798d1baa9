"""Loads FastAPI without building its models of OpenAPI (``fastapi.openapi.models``).

Only ``/openapi.json`` needs their validators. Building these took a thirtieth of a start, and 3 MiB.
"""

from importlib import import_module

import pydantic


def load_framework() -> None:
    """Imports FastAPI with ``defer_build``. Call it before any other import of FastAPI. Models that are declared later
    are built at once, as usual."""
    before = pydantic.BaseModel.model_config
    pydantic.BaseModel.model_config = pydantic.ConfigDict(defer_build=True)
    try:
        import_module("fastapi")
    finally:
        pydantic.BaseModel.model_config = before
