"""Cases, read by servers in Python: Werkzeug (Flask), Django, Starlette (FastAPI), python-multipart."""

import asyncio
import io
import json
from collections.abc import Callable
from typing import Any
from urllib.parse import unquote_to_bytes

import django
import python_multipart
from django.conf import settings
from django.core.handlers.wsgi import WSGIRequest
from django.http import QueryDict
from python_multipart.multipart import parse_options_header as parse_options
from starlette.datastructures import QueryParams, UploadFile
from starlette.requests import Request as StarletteRequest
from werkzeug.http import parse_options_header
from werkzeug.wrappers import Request as WerkzeugRequest

from tests.parsers.readings import Case, Form, Json, Label, Reading, form, numbers_as_doubles

settings.configure(
    DEBUG=False,
    ALLOWED_HOSTS=["*"],
    FILE_UPLOAD_HANDLERS=["django.core.files.uploadhandler.MemoryFileUploadHandler"],
    DATA_UPLOAD_MAX_MEMORY_SIZE=None,
    DATA_UPLOAD_MAX_NUMBER_FIELDS=None,
    DATA_UPLOAD_MAX_NUMBER_FILES=None,
)
django.setup()


def _environ(case: Case) -> dict[str, Any]:
    return {
        "REQUEST_METHOD": "POST",
        "PATH_INFO": "/",
        "SCRIPT_NAME": "",
        "SERVER_NAME": "h",
        "SERVER_PORT": "80",
        "SERVER_PROTOCOL": "HTTP/1.1",
        "QUERY_STRING": "",
        "CONTENT_TYPE": case.content_type,
        "CONTENT_LENGTH": str(len(case.body)),
        "wsgi.input": io.BytesIO(case.body),
        "wsgi.url_scheme": "http",
    }


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _unquote(encoded: bytes) -> bytes:
    return unquote_to_bytes(encoded.replace(b"+", b" "))


class _Werkzeug(WerkzeugRequest):
    max_form_memory_size = None
    max_form_parts = None


def werkzeug_body(case: Case) -> Reading:
    request = _Werkzeug(_environ(case))
    fields = [(_bytes(name), _bytes(value)) for name, values in request.form.lists() for value in values]
    files = [
        (_bytes(name), _bytes(one.filename or ""), one.stream.read())
        for name, several in request.files.lists()
        for one in several
    ]
    return form(fields, files)


def django_body(case: Case) -> Reading:
    request = WSGIRequest(_environ(case))
    fields = [(_bytes(name), _bytes(value)) for name, values in request.POST.lists() for value in values]
    files = [(_bytes(name), _bytes(one.name), one.read()) for name, several in request.FILES.lists() for one in several]
    return form(fields, files)


async def _starlette_form(case: Case) -> Form:
    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": case.body, "more_body": False}

    scope = {"type": "http", "method": "POST", "headers": [(b"content-type", case.content_type.encode("latin-1"))]}
    request = StarletteRequest(scope, receive)
    fields, files = [], []
    async with request.form(max_files=100_000, max_fields=100_000, max_part_size=100 << 20) as read:
        for name, value in read.multi_items():
            if isinstance(value, UploadFile):
                files.append((_bytes(name), _bytes(value.filename or ""), await value.read()))
            else:
                fields.append((_bytes(name), _bytes(value)))
    return form(fields, files)


_LOOP = asyncio.new_event_loop()


def starlette_body(case: Case) -> Reading:
    return _LOOP.run_until_complete(_starlette_form(case))


def python_multipart_body(case: Case) -> Reading:
    fields: list[tuple[bytes, bytes]] = []
    files: list[tuple[bytes, bytes | None, bytes]] = []
    # It leaves the percent encoding of a form to its caller.
    decode = _unquote if case.kind == "form" else bytes

    def on_file(one: Any) -> None:
        one.file_object.seek(0)
        files.append((one.field_name, one.file_name, one.file_object.read()))

    python_multipart.parse_form(
        {"Content-Type": case.content_type.encode("latin-1")},
        io.BytesIO(case.body),
        lambda one: fields.append((decode(one.field_name or b""), decode(one.value or b""))),
        on_file,
    )
    return form(fields, files)


def werkzeug_query(case: Case) -> Reading:
    request = WerkzeugRequest({**_environ(case), "QUERY_STRING": case.body.decode("latin-1")})
    return form([(_bytes(name), _bytes(value)) for name, values in request.args.lists() for value in values])


def django_query(case: Case) -> Reading:
    read = QueryDict(case.body, encoding="utf-8")
    return form([(_bytes(name), _bytes(value)) for name, values in read.lists() for value in values])


def starlette_query(case: Case) -> Reading:
    return form([(_bytes(name), _bytes(value)) for name, value in QueryParams(case.body).multi_items()])


def python_json(case: Case) -> Reading:
    return Json(json.dumps(numbers_as_doubles(json.loads(case.body)), sort_keys=True))


def werkzeug_label(case: Case) -> Reading:
    media_type, options = parse_options_header(case.content_type)
    return Label(media_type.lower(), options.get("charset", "").lower(), options.get("boundary", ""))


def django_label(case: Case) -> Reading:
    request = WSGIRequest(_environ(case))
    options = request.content_params
    return Label(request.content_type, options.get("charset", "").lower(), options.get("boundary", ""))


def python_multipart_label(case: Case) -> Reading:
    media_type, options = parse_options(case.content_type)
    charset, boundary = options.get(b"charset", b""), options.get(b"boundary", b"")
    return Label(media_type.decode("latin-1"), charset.decode("latin-1").lower(), boundary.decode("latin-1"))


_READERS: dict[str, tuple[Callable[[Case], Reading], ...]] = {
    "multipart": (werkzeug_body, django_body, starlette_body, python_multipart_body),
    "form": (werkzeug_body, django_body, starlette_body, python_multipart_body),
    "query": (werkzeug_query, django_query, starlette_query),
    "json": (python_json,),
    "content_type": (werkzeug_label, django_label, python_multipart_label),
}


def read_in_python(case: Case) -> dict[str, Reading]:
    """By the name of each reader; whatever it raises is a refusal: no handler sees the call."""
    readings: dict[str, Reading] = {}
    for reader in _READERS[case.kind]:
        try:
            readings[reader.__name__] = reader(case)
        except Exception:  # noqa: BLE001
            readings[reader.__name__] = None
    return readings
