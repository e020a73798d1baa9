import subprocess
import sys
from pathlib import Path

DOCUMENT = Path(__file__).parents[3] / "docs" / "openapi.json"
_LOADED = """
import sys
from admin_api.framework import load_framework

load_framework()

import pydantic
from fastapi.openapi.models import OpenAPI
from admin_api.openapi import description

class Ordinary(pydantic.BaseModel):
    name: str

print(OpenAPI.__pydantic_complete__, Ordinary.__pydantic_complete__)
sys.stdout.write(description())
"""


def test_the_framework_builds_what_describes_an_interface_when_it_is_described() -> None:
    command = [sys.executable, "-c", _LOADED]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", check=True, timeout=60)
    complete, _, description = done.stdout.partition("\n")

    assert complete == "False True"
    assert description == DOCUMENT.read_text("utf-8")
