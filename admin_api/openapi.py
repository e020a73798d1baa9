"""Writes the description of the interface: ``python -m admin_api.openapi > docs/openapi.json``."""

import json
import sys

from admin_api.app import create_app


def description() -> str:
    """As it is committed: sorted, so that a change shows as what it is."""
    return json.dumps(create_app(None).openapi(), indent=1, sort_keys=True, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    sys.stdout.write(description())
