"""Requests of AWS: read as the SDK means them, and never in another way than the service reads them."""

import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote, urlsplit

import botocore.session
import pytest
from botocore.auth import S3SigV4Auth, S3SigV4QueryAuth, SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from hypothesis import given, settings
from hypothesis import strategies as st

from headgate.kernel.canonical_json import parse_strict
from headgate.kernel.errors import AmbiguousRequestError, HeadgateError
from headgate.protocols.aws_effects import effect_of, operation_table
from headgate.protocols.aws_hosts import Wire, read_host, services
from headgate.protocols.draft import ActionDraft, Effect
from headgate.protocols.http_call import HttpCall
from headgate.tools.interpret import interpret
from headgate.tools.load import load_catalogue
from headgate.tools.match import CatalogueIndex

SESSION = botocore.session.get_session()
KEYS = Credentials("AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY")
SCOPE = "AKIDEXAMPLE/20261127/{region}/{service}/aws4_request"
NOTHING = CatalogueIndex([])
S3_HOST = "s3.eu-central-1.amazonaws.com"
DYNAMODB = "dynamodb.eu-central-1.amazonaws.com"


def authorization(service: str = "s3", region: str = "eu-central-1") -> bytes:
    scope = SCOPE.format(region=region, service=service)
    return f"AWS4-HMAC-SHA256 Credential={scope}, SignedHeaders=host;x-amz-date, Signature={'0' * 64}".encode()


def read(
    method: str,
    url: str,
    *,
    service: str | None = "s3",
    region: str = "eu-central-1",
    headers: dict[str, str] | None = None,
    body: bytes = b"",
    catalogue: CatalogueIndex = NOTHING,
) -> ActionDraft:
    parts = urlsplit(url)
    fields = [(name.encode(), value.encode()) for name, value in (headers or {}).items()]
    if service is not None:
        fields.append((b"Authorization", authorization(service, region)))
    call = HttpCall(
        method, parts.scheme, parts.hostname or "", 443, parts.path or "/", parts.query, tuple(fields), body
    )
    return interpret(call, catalogue)


def facts(draft: ActionDraft) -> dict[str, Any]:
    assert draft.facts is not None, (draft.tool, draft.operation)
    assert draft.facts.member == "aws"
    shown = parse_strict(draft.facts.shown)
    assert isinstance(shown, dict)
    return shown


def meant(draft: ActionDraft) -> tuple[Any, Any, Any]:
    told = facts(draft)
    return told["operation"], told["bucket"], told["key"]


@pytest.mark.parametrize(
    ("method", "path", "operation", "effect"),
    [
        ("GET", "/", "ListBuckets", Effect.READ),
        ("GET", "/box", "ListObjects", Effect.READ),
        ("GET", "/box/", "ListObjects", Effect.READ),
        ("GET", "/box?list-type=2&prefix=a", "ListObjectsV2", Effect.READ),
        ("HEAD", "/box", "HeadBucket", Effect.READ),
        ("PUT", "/box", "CreateBucket", Effect.WRITE),
        ("DELETE", "/box", "DeleteBucket", Effect.DESTRUCTIVE),
        ("POST", "/box?delete", "DeleteObjects", Effect.DESTRUCTIVE),
        ("PUT", "/box?policy", "PutBucketPolicy", Effect.WRITE),
        ("DELETE", "/box?policy", "DeleteBucketPolicy", Effect.DESTRUCTIVE),
        ("GET", "/box?inventory", "ListBucketInventoryConfigurations", Effect.READ),
        ("GET", "/box?inventory&id=1", "GetBucketInventoryConfiguration", Effect.READ),
        ("GET", "/box/a/b", "GetObject", Effect.READ),
        ("HEAD", "/box/a", "HeadObject", Effect.READ),
        ("PUT", "/box/a", "PutObject", Effect.WRITE),
        ("PUT", "/box/a?x-id=PutObject", "PutObject", Effect.WRITE),
        ("PUT", "/box/a?acl", "PutObjectAcl", Effect.WRITE),
        ("PUT", "/box/a?partNumber=1&uploadId=x", "UploadPart", Effect.WRITE),
        ("DELETE", "/box/a?versionId=1", "DeleteObject", Effect.DESTRUCTIVE),
        ("DELETE", "/box/a?uploadId=x", "AbortMultipartUpload", Effect.WRITE),
        ("POST", "/box/a?select&select-type=2", "SelectObjectContent", Effect.WRITE),
    ],
)
def test_s3(method: str, path: str, operation: str, effect: Effect) -> None:
    draft = read(method, f"https://{S3_HOST}{path}")
    assert (draft.tool, facts(draft)["operation"], draft.effect) == ("aws", operation, effect)
    assert (facts(draft)["service"], facts(draft)["region"]) == ("s3", "eu-central-1")
    assert re.fullmatch("s3_[a-z0-9_]+", draft.operation)


@pytest.mark.parametrize(
    ("url", "bucket", "key"),
    [
        (f"https://{S3_HOST}/box/a%20b/%C3%A4", "box", "a b/ä"),
        (f"https://{S3_HOST}/box/a//b", "box", "a//b"),
        ("https://my.box.s3.amazonaws.com/a", "my.box", "a"),
        ("https://box.s3-eu-central-1.amazonaws.com/a/", "box", "a/"),
        ("https://box.s3.dualstack.eu-central-1.amazonaws.com/a", "box", "a"),
        ("https://box.s3-accelerate.amazonaws.com/a", "box", "a"),
        ("https://box.s3.cn-north-1.amazonaws.com.cn/a", "box", "a"),
        ("https://box.s3.amazonaws.com/box/a", "box", "box/a"),
        ("https://s3.s3.amazonaws.com/a", "s3", "a"),
    ],
)
def test_bucket_and_key(url: str, bucket: str, key: str) -> None:
    region = "cn-north-1" if ".cn/" in url else "eu-central-1"
    assert meant(read("GET", url, region=region)) == ("GetObject", bucket, key)


def test_a_copy_names_its_source() -> None:
    draft = read("PUT", f"https://{S3_HOST}/box/a", headers={"x-amz-copy-source": "/secret/pay%20roll?versionId=7"})
    assert facts(draft)["operation"] == "CopyObject"
    assert facts(draft)["copy_source"] == {"bucket": "secret", "key": "pay roll", "version_id": "7"}
    assert draft.params["copy_source"] == facts(draft)["copy_source"], "approvers see it"
    part = read("PUT", f"https://{S3_HOST}/box/a?partNumber=1&uploadId=x", headers={"x-amz-copy-source": "secret/roll"})
    assert facts(part)["operation"] == "UploadPartCopy"


@pytest.mark.parametrize(
    ("method", "url", "changes"),
    [
        ("GET", f"https://{S3_HOST}/box/a", {"service": "dynamodb"}),
        ("GET", f"https://{S3_HOST}/box/a", {"region": "us-east-1"}),
        ("POST", f"https://{DYNAMODB}/", {"service": "s3"}),
        ("POST", f"https://{DYNAMODB}/", {"service": "dynamodb", "region": "us-east-1"}),
        ("PUT", f"https://{S3_HOST}/box/a?acl&tagging", {}),
        ("PUT", f"https://{S3_HOST}/box/a?ACL", {}),
        ("PUT", f"https://{S3_HOST}/box/a?acl&acl", {}),
        ("GET", f"https://{S3_HOST}/box/a+b", {}),
        ("GET", f"https://{S3_HOST}//box/a", {}),
        ("GET", f"https://{S3_HOST}/-/a", {}),
        ("GET", f"https://{S3_HOST}/box/a", {"headers": {"x-amz-copy-source": "/secret/a"}}),
        ("PUT", f"https://{S3_HOST}/box/a", {"headers": {"x-amz-copy-source": "arn:aws:s3:::secret"}}),
        ("PUT", f"https://{S3_HOST}/box/a", {"headers": {"x-amz-copy-source": "/se%2Fcret/a"}}),
        ("PUT", f"https://{S3_HOST}/box/a", {"headers": {"x-amz-copy-source": "/secret/a+b"}}),
        ("PUT", f"https://{S3_HOST}/box/a", {"headers": {"x-amz-copy-source": "/secret/%ff"}}),
        ("PUT", f"https://{S3_HOST}/box/a", {"headers": {"x-amz-copy-source": "/box/../secret/a"}}),
        ("PUT", f"https://{S3_HOST}/box/a", {"headers": {"x-amz-copy-source": "/box/%2e%2e/secret/a"}}),
        ("PUT", f"https://{S3_HOST}/box/a?x-amz-copy-source=%2Fsecret%2Fa", {}),
        ("GET", f"https://{S3_HOST}/box/a", {"headers": {"x-amz-target": "A.ListTables"}}),
        ("GET", f"https://{S3_HOST}/box/a?X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=x", {}),
        ("GET", f"https://{S3_HOST}/box/a?x-amz-credential=x", {"service": None}),
        ("GET", f"https://{S3_HOST}/box/a", {"service": None, "headers": {"Authorization": "AWS4-HMAC-SHA256 x"}}),
        ("GET", f"https://{S3_HOST}/box/a", {"headers": {"authorization": "Bearer x"}}),
        ("GET", f"https://{S3_HOST}/box/info/refs?service=git-upload-pack", {}),
        (
            "POST",
            f"https://{DYNAMODB}/?Action=ListTables",
            {"service": "dynamodb", "headers": {"x-amz-target": "DynamoDB_20120810.DeleteTable"}},
        ),
        (
            "POST",
            f"https://{DYNAMODB}/service/DynamoDB/operation/ListTables",
            {"service": "dynamodb", "headers": {"x-amz-target": "DynamoDB_20120810.DeleteTable"}},
        ),
        (
            "POST",
            "https://iam.amazonaws.com/?Action=ListUsers",
            {
                "service": "iam",
                "region": "us-east-1",
                "headers": {"Content-Type": "application/x-www-form-urlencoded"},
                "body": b"Action=DeleteUser",
            },
        ),
        (
            "POST",
            f"https://{DYNAMODB}/",
            {
                "service": "dynamodb",
                "headers": {
                    "Content-Type": "application/json",
                    "X-Amz-Target": "DynamoDB_20120810.DeleteTable",
                    "Accept": "application/json, text/event-stream",
                },
                "body": b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a"}}',
            },
        ),
    ],
)
def test_what_can_be_read_in_two_ways_is_refused(method: str, url: str, changes: dict[str, Any]) -> None:
    with pytest.raises(AmbiguousRequestError):
        read(method, url, **changes)


@pytest.mark.parametrize(
    ("method", "url", "changes"),
    [
        ("POST", f"https://{DYNAMODB}/x", {"service": "dynamodb", "headers": {"x-amz-target": "A_1.ListTables"}}),
        ("GET", f"https://{DYNAMODB}/", {"service": "dynamodb", "headers": {"x-amz-target": "A_1.ListTables"}}),
        ("POST", f"https://{DYNAMODB}/?a=b", {"service": "dynamodb", "headers": {"x-amz-target": "A_1.ListTables"}}),
        ("POST", f"https://{DYNAMODB}/?Action=ListTables", {"service": "dynamodb"}),
        ("POST", "https://iam.amazonaws.com/?action=ListUsers", {"service": "iam"}),
        ("POST", "https://iam.amazonaws.com/", {"service": "iam", "headers": {"x-amz-target": "IAM.ListUsers"}}),
        ("POST", "https://email.eu-central-1.amazonaws.com/v2/email?Action=ListIdentities", {"service": "ses"}),
        ("GET", f"https://{S3_HOST}/box/a?unheard-of", {}),
        ("PUT", f"https://{S3_HOST}/box/a?partNumber=1", {}),
        (
            "POST",
            "https://sqs.eu-central-1.amazonaws.com/?Action=ListQueues",
            {"service": "sqs", "headers": {"Content-Type": "text/plain"}, "body": b"Action=PurgeQueue"},
        ),
        (
            "POST",
            "https://sqs.eu-central-1.amazonaws.com/",
            {
                "service": "sqs",
                "headers": {"Content-Type": "text/plain", "x-amz-target": "AmazonSQS.ListQueues"},
                "body": b"Action=PurgeQueue",
            },
        ),
        # Anybody's own API or machine, below AWS's domains.
        (
            "POST",
            "https://a1b2.execute-api.eu-central-1.amazonaws.com/",
            {"service": "dynamodb", "headers": {"x-amz-target": "A_1.ListTables"}},
        ),
        (
            "POST",
            "https://ec2-1-2-3-4.eu-central-1.compute.amazonaws.com/",
            {"service": "dynamodb", "headers": {"x-amz-target": "A_1.ListTables"}},
        ),
        ("GET", "https://lambda.eu-central-1.amazonaws.com/2015-03-31/functions", {"service": "lambda"}),
        ("GET", "https://ap-1.s3-accesspoint.eu-central-1.amazonaws.com/a", {}),
    ],
)
def test_an_operation_that_nobody_knows_is_a_write(method: str, url: str, changes: dict[str, Any]) -> None:
    draft = read(method, url, **changes)
    assert (draft.tool, facts(draft)["operation"], draft.effect) == ("aws", None, Effect.WRITE)
    assert draft.operation.endswith("_unknown")


@pytest.mark.parametrize("host", ["s3.example.com", "amazonaws.com.example.com", "notamazonaws.com"])
def test_a_signature_says_nothing_of_other_hosts(host: str) -> None:
    assert read("GET", f"https://{host}/box/a").tool == "http"


def test_what_is_not_signed_stays_generic() -> None:
    draft = read("GET", f"https://{S3_HOST}/box/a", service=None)
    assert (draft.tool, draft.operation, draft.facts) == ("http", "get", None)


def test_json_query_and_cbor() -> None:
    target = {"x-amz-target": "DynamoDB_20120810.DescribeTable", "Content-Type": "application/x-amz-json-1.0"}
    table = read("POST", f"https://{DYNAMODB}/", service="dynamodb", headers=target, body=b'{"TableName": "a"}')
    assert (table.operation, table.effect) == ("dynamodb_describe_table", Effect.READ)
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    user = read(
        "POST", "https://iam.amazonaws.com/", service="iam", region="us-east-1", headers=form,
        body=b"Action=DeleteUser&UserName=eve&Version=2010-05-08",
    )  # fmt: skip
    assert (user.operation, user.effect) == ("iam_delete_user", Effect.DESTRUCTIVE)
    queue = "https://sqs.eu-central-1.amazonaws.com/123456789012/jobs?Action=GetQueueAttributes"
    assert facts(read("GET", queue, service="sqs"))["operation"] == "GetQueueAttributes"
    wired = next(prefix for prefix, one in services().items() if Wire.CBOR in one.wires)
    called = read(
        "POST",
        f"https://{wired}.eu-central-1.amazonaws.com/service/X/operation/ListThings",
        service=services()[wired].name,
        headers={"smithy-protocol": "rpc-v2-cbor"},
    )
    assert facts(called)["operation"] == "ListThings"


def test_a_form_that_uploads(catalogue: CatalogueIndex) -> None:
    def upload(*keys: str, files: int = 0) -> ActionDraft:
        fields = [("x-amz-credential", SCOPE.format(region="eu-central-1", service="s3")), *(("key", k) for k in keys)]
        fields[1 : 1 + files] = [(f'{n}"; filename="x', v) for n, v in fields[1 : 1 + files]]
        parts = [f'--b\r\nContent-Disposition: form-data; name="{n}"\r\n\r\n{v}\r\n' for n, v in fields]
        body = ("".join(parts) + "--b--\r\n").encode()
        headers = {"Content-Type": "multipart/form-data; boundary=b"}
        return read("POST", "https://box.s3.amazonaws.com/", service=None, headers=headers, body=body)

    assert meant(upload("a/b")) == ("PostObject", "box", "a/b")
    assert meant(upload("a/${filename}")) == ("PostObject", "box", None)
    with pytest.raises(AmbiguousRequestError):
        upload("a", "b")
    # A key that has the name of a file is a field to some servers, and the first one counts.
    for keys in (("a",), ("a", "b")):
        with pytest.raises(AmbiguousRequestError):
            upload(*keys, files=1)


def test_the_administration_of_minio_is_no_object(catalogue: CatalogueIndex) -> None:
    draft = read("PUT", "https://store.example/minio/admin/v3/set-config", catalogue=catalogue)
    assert (draft.operation, draft.effect) == ("s3_unknown", Effect.WRITE)
    asked = read("GET", "https://store.example/minio/admin/v3/list-users", catalogue=catalogue)
    assert (asked.operation, asked.effect) == ("s3_unknown", Effect.WRITE)


def test_an_archive_that_is_extracted_is_written_under_keys_that_nobody_sees() -> None:
    draft = read("PUT", f"https://{S3_HOST}/box/a.tar", headers={"X-Amz-Meta-Snowball-Auto-Extract": "true"})
    assert meant(draft) == (None, "box", None)


@pytest.fixture
def catalogue(tmp_path) -> CatalogueIndex:
    file = tmp_path / "store.yaml"
    file.write_text(
        "tool: store\ndescription: An object store\nprotocol: aws\nhosts: [store.example, '*.store.example']\n"
    )
    return CatalogueIndex([load_catalogue(file)])


def test_a_named_host_is_read_signed_or_not(catalogue: CatalogueIndex) -> None:
    path = read("GET", "https://store.example/box/a", service=None, catalogue=catalogue)
    assert (path.tool, path.operation, meant(path)) == ("store", "s3_get_object", ("GetObject", "box", "a"))
    virtual = read("PUT", "https://my.box.store.example/a", catalogue=catalogue)
    assert (virtual.operation, meant(virtual)) == ("s3_put_object", ("PutObject", "my.box", "a"))
    table = read(
        "POST", "https://store.example/", service="dynamodb", headers={"x-amz-target": "DynamoDB_1.GetItem"},
        catalogue=catalogue,
    )  # fmt: skip
    assert (table.operation, table.effect) == ("dynamodb_get_item", Effect.READ)
    with pytest.raises(AmbiguousRequestError):
        read("GET", "https://store.example/box/a//b", catalogue=catalogue)
    with pytest.raises(AmbiguousRequestError, match="is for iam, and the address is one of S3"):
        read("GET", "https://store.example/payroll/a", service="iam", catalogue=catalogue)


def test_the_table_of_services_is_the_sdks() -> None:
    wires = {"json": Wire.JSON, "query": Wire.QUERY, "ec2": Wire.QUERY, "smithy-rpc-v2-cbor": Wire.CBOR}
    loader = SESSION.get_component("data_loader")
    told: dict[str, tuple[str, set[Wire]]] = {}
    for name in loader.list_available_services("service-2"):
        metadata = loader.load_service_model(name, "service-2")["metadata"]
        found = {wires[one] for one in [*metadata.get("protocols", []), metadata["protocol"]] if one in wires}
        prefix = metadata["endpointPrefix"]
        found |= {Wire.QUERY} if "awsQueryCompatible" in metadata else set()
        if found:
            told.setdefault(prefix, (metadata.get("signingName", prefix), set()))[1].update(found)
    assert told == {prefix: (one.name, set(one.wires)) for prefix, one in services().items()}


def test_the_table_of_operations_names_some_that_the_sdk_has() -> None:
    known: dict[str, set[str]] = {}
    for name in SESSION.get_available_services():
        model = SESSION.get_service_model(name)
        if model.protocol in ("json", "query", "ec2", "smithy-rpc-v2-cbor") or name in ("sso",):
            known.setdefault(model.signing_name, set()).update(model.operation_names)
    table = operation_table()
    assert table.reads <= set().union(*known.values())
    unknown = {service: names - known.get(service, set()) for service, names in table.writes.items()}
    assert {service: names for service, names in unknown.items() if names} == {}


@pytest.mark.parametrize(
    ("service", "operation", "effect"),
    [
        ("cloudtrail", "LookupEvents", Effect.READ),
        ("dynamodb", "Query", Effect.READ),
        ("dynamodb", "BatchGetItem", Effect.READ),
        ("logs", "FilterLogEvents", Effect.READ),
        ("config", "SelectResourceConfig", Effect.READ),
        ("sts", "GetCallerIdentity", Effect.READ),
        ("iam", "SimulatePrincipalPolicy", Effect.READ),
        ("secretsmanager", "DescribeSecret", Effect.READ),
        ("secretsmanager", "GetSecretValue", Effect.WRITE),
        ("secretsmanager", "BatchGetSecretValue", Effect.WRITE),
        ("ssm", "GetParameter", Effect.WRITE),
        ("sts", "GetSessionToken", Effect.WRITE),
        ("storagegateway", "DescribeChapCredentials", Effect.WRITE),
        ("cognito-idp", "DescribeIdentityProvider", Effect.WRITE),
        ("cognito-idp", "DescribeUserPool", Effect.READ),
        ("ec2", "DescribeVpnConnections", Effect.WRITE),
        ("ec2", "DescribeInstances", Effect.READ),
        ("directconnect", "DescribeVirtualInterfaces", Effect.WRITE),
        ("sts", "AssumeRole", Effect.WRITE),
        ("timestream", "Query", Effect.WRITE),
        ("license-manager", "CheckInLicense", Effect.WRITE),
        ("logs", "StartQuery", Effect.WRITE),
        ("dynamodb", "Scanner", Effect.WRITE),
        ("s3", "SelectObjectContent", Effect.WRITE),
        ("rds", "DeleteDBInstance", Effect.DESTRUCTIVE),
    ],
)
def test_the_effect_of_an_operation(service: str, operation: str, effect: Effect) -> None:
    assert effect_of(service, operation) is effect


def operations(service: str) -> Iterator[str]:
    yield from SESSION.get_service_model(service).operation_names


def filled(shape: Any, *, value: str = "abc") -> Any:
    """The smallest value that the model takes."""
    match shape.type_name:
        case "structure" if getattr(shape, "is_tagged_union", False):
            name = next(iter(shape.members))
            return {name: filled(shape.members[name], value=value)}
        case "structure":
            return {name: filled(shape.members[name], value=value) for name in shape.required_members}
        case "list":
            return [filled(shape.member, value=value)]
        case "map":
            return {"a": filled(shape.value, value=value)}
        case "string":
            return shape.enum[0] if getattr(shape, "enum", None) else value * max(1, shape.metadata.get("min", 1) // 2)
        case "integer" | "long" | "float" | "double":
            return 1
        case "boolean":
            return True
        case "timestamp":
            return "2026-11-27T00:00:00Z"
    return b"x"


class _SentError(Exception):
    """In place of an answer."""

    def __init__(self, request: Any) -> None:
        super().__init__("not sent")
        self.request = request


def _catch(request: Any, **_: object) -> None:
    raise _SentError(request)


@pytest.fixture(scope="module")
def client() -> Any:
    made = SESSION.create_client(
        "s3", region_name="eu-central-1", aws_access_key_id="AKIDEXAMPLE", aws_secret_access_key="x"
    )
    made.meta.events.register("before-send.s3", _catch)
    return made


NOT_READ = re.compile("CreateSession|WriteGetObject|Rename|DirectoryBuckets|Metadata|Abac|Annotation|Encryption$")
"""Access points, directory buckets and what is newer than this reader: unknown, never another operation."""


@pytest.mark.parametrize("operation", sorted(operations("s3")))
def test_every_operation_of_s3_is_read_as_the_sdk_means_it(client: Any, operation: str) -> None:
    model = client.meta.service_model.operation_model(operation)
    params = {} if model.input_shape is None else filled(model.input_shape)
    params |= {"CopySource": "secret/a b"} if "Copy" in operation else {}
    with pytest.raises(_SentError) as sent:
        client._make_api_call(operation, params)
    call = as_sent(sent.value.request)
    draft = interpret(call, NOTHING)
    read_as = facts(draft)["operation"]
    meant = {operation, f"{operation}Configuration"}  # as the SDK calls older forms of it
    assert read_as in meant or (read_as is None and draft.effect is not Effect.READ)
    if read_as is None:
        assert NOT_READ.search(operation), (operation, call.method, call.query)


def as_sent(request: Any) -> HttpCall:
    parts = urlsplit(request.url)
    fields = tuple(
        (name.encode(), value if isinstance(value, bytes) else str(value).encode())
        for name, value in request.headers.items()
    )
    body = request.body if isinstance(request.body, bytes) else b""
    host = parts.hostname or ""
    return HttpCall(request.method, "https", host, 443, parts.path or "/", parts.query, fields, body)


@settings(max_examples=300, deadline=None)
@given(
    key=st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=30),
    presigned=st.booleans(),
)
def test_the_key_is_the_one_that_the_sdk_was_given(key: str, presigned: bool) -> None:
    url = f"https://box.{S3_HOST}/{quote(key, safe='/~')}"
    request = AWSRequest("GET", url)
    auth = S3SigV4QueryAuth if presigned else S3SigV4Auth
    auth(KEYS, "s3", "eu-central-1").add_auth(request)
    prepared = request.prepare()
    parts = urlsplit(prepared.url)
    fields = tuple((name.encode(), str(value).encode()) for name, value in prepared.headers.items())
    try:
        draft = interpret(
            HttpCall("GET", "https", f"box.{S3_HOST}", 443, parts.path, parts.query, fields, b""), NOTHING
        )
    except HeadgateError:
        assert re.search(r"//|\\|(^|/)\.{1,2}(;|/|$)|^/", key), "only what servers read differently"
        return
    assert meant(draft) == ("GetObject", "box", key)
    assert facts(draft)["presigned"] is presigned


@settings(max_examples=200, deadline=None)
@given(
    target=st.text(st.characters(min_codepoint=0x20, max_codepoint=0x7E), max_size=40),
    path=st.sampled_from(["/", "/a", "/service/X/operation/ListThings", "//"]),
    query=st.sampled_from(["", "Action=ListThings", "action=DeleteThings", "X-Amz-Target=A.ListThings"]),
    body=st.sampled_from([b"", b"Action=DeleteThings", b"Action=ListThings&Action=DeleteThings", b"action=x"]),
    host=st.sampled_from(
        [
            DYNAMODB,
            "iam.amazonaws.com",
            "monitoring.eu-central-1.amazonaws.com",
            "x.execute-api.eu-central-1.amazonaws.com",
        ]
    ),
)
def test_at_most_one_place_names_the_operation_that_is_read(
    target: str, path: str, query: str, body: bytes, host: str
) -> None:
    known = read_host(host)
    service = "execute-api" if known is None or known.service is None else known.service.name
    headers = {"x-amz-target": target, "Content-Type": "application/x-www-form-urlencoded"}
    if not target:
        del headers["x-amz-target"]
    try:
        told = facts(read("POST", f"https://{host}{path}?{query}", service=service, headers=headers, body=body))
    except HeadgateError:
        return
    if told["operation"] is not None:
        places = [bool(target), "Action" in query or b"Action" in body, path.startswith("/service/")]
        assert places.count(True) == 1
        assert b"DeleteThings" not in body or told["operation"] == "DeleteThings"


def test_a_service_that_signs_with_sigv4() -> None:
    request = AWSRequest("POST", f"https://{DYNAMODB}/", {"X-Amz-Target": "DynamoDB_20120810.ListTables"}, b"{}")
    SigV4Auth(KEYS, "dynamodb", "eu-central-1").add_auth(request)
    prepared = request.prepare()
    fields = tuple((name.encode(), str(value).encode()) for name, value in prepared.headers.items())
    draft = interpret(HttpCall("POST", "https", DYNAMODB, 443, "/", "", fields, b"{}"), NOTHING)
    assert (draft.operation, draft.effect) == ("dynamodb_list_tables", Effect.READ)


def test_a_server_of_mcp_may_stand_behind_a_gateway_of_aws() -> None:
    host = "https://abc123.execute-api.eu-central-1.amazonaws.com/mcp"
    headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    body = b'{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "search", "arguments": {}}}'
    draft = read("POST", host, service=None, headers=headers, body=body)
    assert (draft.operation, draft.effect) == ("search", Effect.WRITE)
    with pytest.raises(AmbiguousRequestError, match=r"MCP.*AWS"):
        read("POST", host, service="execute-api", headers=headers, body=body)
