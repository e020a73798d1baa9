"""An API for each test: a service signs with the keys of its own folder."""

import pytest


@pytest.fixture
def running_api(own_api):
    return own_api
