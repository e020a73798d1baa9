"""A catalogue from an OpenAPI document: both directions work from it."""

from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner

from headgate.cli.main import headgate
from headgate.kernel.canonical_json import JsonObject, canonical_bytes
from headgate.kernel.errors import ValidationError
from headgate.tools.explicit import explicit_draft
from headgate.tools.interpret import interpret
from headgate.tools.load import load_catalogue
from headgate.tools.match import CatalogueIndex
from headgate.tools.openapi import import_openapi

DOCUMENT: JsonObject = {
    "openapi": "3.1.0",
    "info": {"title": "Pets", "version": "1"},
    "servers": [{"url": "https://{region}.pets.example/v2", "variables": {"region": {"default": "eu"}}}],
    "paths": {
        "/pets": {
            "parameters": [{"name": "X-Tenant", "in": "header", "schema": {"type": "string"}}],
            "get": {
                "operationId": "listPets",
                "summary": "List\n pets",
                "parameters": [
                    {"name": "limit", "in": "query", "schema": {"type": "integer"}},
                    {"name": "tag", "in": "query", "schema": {"type": "array"}},
                ],
                "responses": {"200": {"description": "ok"}},
            },
            "post": {
                "operationId": "createPet",
                "parameters": [
                    {"name": "Idempotency-Key", "in": "header", "schema": {"type": "string"}},
                    {"$ref": "#/components/parameters/DryRun"},
                ],
                "requestBody": {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/Pet"}}}},
                "responses": {"201": {"description": "made"}, "default": {"description": "error"}},
            },
        },
        "/pets/{petId}": {
            "put": {
                "operationId": "replacePet",
                "parameters": [{"name": "petId", "in": "path", "required": True, "schema": {}}],
                "requestBody": {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/Pet"}}}},
                "responses": {"200": {"description": "ok"}, "204": {"description": "ok"}},
            },
            "delete": {"operationId": "deletePet", "responses": {"204": {"description": "gone"}}},
        },
        "/pets/{petId}/photo": {
            "post": {"requestBody": {"content": {"image/png": {}}}, "responses": {"200": {"description": "ok"}}}
        },
        "/pets/{petId}.json": {"get": {"operationId": "petAsJson", "responses": {}}},
        "/report/{id}": {
            "post": {
                "operationId": "createPet",
                "requestBody": {
                    "content": {"application/x-www-form-urlencoded": {"schema": {"properties": {"id": {}, "note": {}}}}}
                },
                "responses": {},
            }
        },
    },
    "components": {
        "parameters": {"DryRun": {"name": "dryRun", "in": "query", "schema": {"type": "boolean"}}},
        "schemas": {
            "Named": {"properties": {"name": {"type": "string"}}},
            "Pet": {"allOf": [{"$ref": "#/components/schemas/Named"}], "properties": {"pet_id": {}, "tag": {}}},
        },
        "securitySchemes": {"key": {"type": "apiKey", "in": "header", "name": "X-Api-Key"}},
    },
}


@pytest.fixture
def catalogue(tmp_path: Path) -> CatalogueIndex:
    imported = import_openapi(DOCUMENT, tool="pets")
    assert imported.left_out == ["GET /pets/{petId}.json: {petId}.json is only partly a variable"]
    path = tmp_path / "pets.yaml"
    path.write_text(yaml.safe_dump(imported.catalogue))
    return CatalogueIndex([load_catalogue(path)])


@pytest.mark.parametrize(
    ("operation", "params", "method", "target", "body"),
    [
        ("list_pets", {"limit": "5", "tag": ["a", "b"]}, "GET", "/v2/pets?limit=5&tag=a&tag=b", None),
        ("create_pet", {"name": "Rex", "dryRun": "true"}, "POST", "/v2/pets?dryRun=true", {"name": "Rex"}),
        ("replace_pet", {"pet_id": "7", "body_pet_id": 7}, "PUT", "/v2/pets/7", {"pet_id": 7}),
        ("delete_pet", {"pet_id": "7"}, "DELETE", "/v2/pets/7", None),
    ],
)
def test_both_directions(catalogue, operation: str, params: JsonObject, method: str, target: str, body) -> None:
    draft = explicit_draft("pets", operation, params, catalogue, context=b"{}", delegation=b"{}")
    call = draft.call
    assert call is not None
    assert (call.method, call.host, call.path + (f"?{call.query}" if call.query else "")) == (
        method,
        "eu.pets.example",
        target,
    )
    assert call.body == (b"" if body is None else canonical_bytes(body))
    read = interpret(call, catalogue)
    assert (read.tool, read.operation, read.params) == ("pets", operation, params)


def test_what_the_document_does_not_say_is_chosen_carefully(catalogue) -> None:
    entries = catalogue.tools["pets"]
    assert {name: entry.effect.value for name, entry in entries.items()} == {
        "list_pets": "read", "create_pet": "write", "replace_pet": "write", "delete_pet": "destructive",
        "post_v2_pets_photo": "write", "create_pet_2": "write",
    }  # fmt: skip
    assert not entries["replace_pet"].sending.repeatable and not entries["delete_pet"].sending.repeatable
    assert entries["create_pet"].sending.idempotency_header == "Idempotency-Key"
    assert entries["create_pet"].sending.repeatable  # the service says that it knows a second sending for the first
    assert entries["create_pet"].expected_status == {201}
    place = entries["create_pet"].sending.credential
    assert place is not None and (place.name, place.header, place.prefix) == ("pets", "X-Api-Key", "")
    report = explicit_draft(
        "pets", "create_pet_2", {"id": "1", "body_id": "2"}, catalogue, context=b"{}", delegation=b"{}"
    )
    assert report.call is not None and report.call.body == b"id=2"


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"openapi": "2.0"}, "3.0 or 3.1"),
        ({"servers": []}, "does not say where the API is"),
        ({"servers": [{"url": "/v2"}]}, "does not say where the API is"),
        ({"paths": {}}, "no operation"),
        ({"paths": {"/a": {"get": {"parameters": [{"$ref": "http://elsewhere/x"}]}}}}, "points outside the document"),
        ({"paths": {"/a": {"$ref": "#/paths/~1a"}}}, "circular"),
    ],
)
def test_documents_that_are_refused(change: JsonObject, says: str) -> None:
    with pytest.raises(ValidationError, match=says):
        import_openapi(DOCUMENT | change, tool="pets")


def test_the_command(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("HEADGATE_DATA_DIR", str(tmp_path / "data"))
    source = tmp_path / "openapi.json"
    source.write_bytes(canonical_bytes(DOCUMENT))
    run = CliRunner().invoke
    shown = run(headgate, ["tools", "import", str(source), "--tool", "pets"])
    assert shown.exit_code == 0 and "operation: list_pets" in shown.output
    installed = run(headgate, ["tools", "import", str(source), "--tool", "pets", "--install"])
    assert installed.exit_code == 0 and "6 operations" in installed.output, installed.output
    listed = run(headgate, ["tools", "list", "--tool", "pets"]).output
    assert "delete_pet" in listed and "destructive" in listed
    assert "no problems" in run(headgate, ["tools", "check"]).output
    file = tmp_path / "broken.yaml"
    file.write_text("tool: pets\n")
    assert run(headgate, ["tools", "check", str(file)]).exit_code != 0
    # One that another catalogue contradicts is not left behind: no part would start with it.
    clash = run(headgate, ["tools", "import", str(source), "--tool", "cats", "--install"])
    assert clash.exit_code != 0 and not (tmp_path / "data" / "catalogues" / "cats.yaml").exists()
