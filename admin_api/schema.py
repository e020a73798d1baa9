"""The base of bodies and answers: derived by pydantic when it is first used, as routes are (``guarded_route``)."""

import pydantic


class BaseModel(pydantic.BaseModel):
    """Building the validators of all at once took half a second of a start, and 13 MiB."""

    model_config = pydantic.ConfigDict(defer_build=True)
