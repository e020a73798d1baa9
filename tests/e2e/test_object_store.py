"""An S3 server behind the gate, and Amazon's own client: what is asked for decides, not only that it is a PUT."""

from collections.abc import Iterator
from typing import Any

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError
from moto.server import ThreadedMotoServer

from tests.e2e.clients import Administrator, Agent
from tests.e2e.conftest import LOOPBACK
from tests.e2e.instance import Instance

POLICY = """package e2e.object_store

# In an organization of its own words: what lies below reports/ may be written, and nothing is copied from payroll.
allow if {
	input.tool == "store"
	input.effect == "read"
}

allow if {
	input.aws.operation in {"CreateBucket", "PutObject", "CopyObject"}
	not input.aws.bucket == "payroll"
}

deny contains "payroll is not copied" if input.aws.copy_source.bucket == "payroll"

deny contains "objects below final/ stay" if {
	input.aws.operation == "DeleteObject"
	startswith(input.aws.key, "final/")
}

deny contains "policies of buckets stay" if input.aws.operation == "PutBucketPolicy"
"""


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    moto = ThreadedMotoServer(ip_address="127.0.0.1", port=0)
    moto.start()
    yield f"http://localhost:{moto.get_host_and_port()[1]}"
    moto.stop()


@pytest.fixture
def store(instance: Instance, administrator: Administrator, agent: Agent, server: str) -> Iterator[Any]:
    administrator.allow_destinations(LOOPBACK, {"host": "localhost", "private": True})
    proxy = agent.proxy_url.replace("://", f"://agent:{agent.key}@")
    config = Config(proxies={"http": proxy}, s3={"addressing_style": "path"}, retries={"total_max_attempts": 1})
    client = boto3.client(
        "s3",
        endpoint_url=server,
        region_name="eu-central-1",
        aws_access_key_id="AKIDEXAMPLE",
        aws_secret_access_key="example",
        config=config,
    )
    with administrator.policy(POLICY, priority=1):
        yield client
    administrator.allow_destinations(LOOPBACK)


def test_policies_read_bucket_key_and_source(
    store: Any, agent: Agent, administrator: Administrator, server: str
) -> None:
    for bucket in ("reports", "other"):
        store.create_bucket(Bucket=bucket, CreateBucketConfiguration={"LocationConstraint": "eu-central-1"})
    boto3.client(  # what an agent may not: beside the gate
        "s3", endpoint_url=server, region_name="eu-central-1", aws_access_key_id="x", aws_secret_access_key="x",
    ).create_bucket(Bucket="payroll", CreateBucketConfiguration={"LocationConstraint": "eu-central-1"})  # fmt: skip
    store.put_object(Bucket="reports", Key="final/ä b.txt", Body=b"text", ContentType="application/octet-stream")
    store.copy_object(Bucket="other", Key="copy", CopySource={"Bucket": "reports", "Key": "final/ä b.txt"})
    assert [one["Key"] for one in store.list_objects_v2(Bucket="reports")["Contents"]] == ["final/ä b.txt"]
    assert store.get_object(Bucket="other", Key="copy")["Body"].read() == b"text"
    url = store.generate_presigned_url("get_object", Params={"Bucket": "other", "Key": "copy"})
    assert agent.call("GET", url).text == "text"
    for refused in (
        lambda: store.copy_object(Bucket="other", Key="pay", CopySource={"Bucket": "payroll", "Key": "2026"}),
        lambda: store.delete_object(Bucket="reports", Key="final/ä b.txt"),
        lambda: store.put_bucket_policy(Bucket="reports", Policy="{}"),
    ):
        with pytest.raises(ClientError) as error:
            refused()
        assert error.value.response["ResponseMetadata"]["HTTPStatusCode"] == 403
    newest = administrator.get("/v1/actions", limit=100)["data"]
    told = [(one["operation"], one["status"]) for one in newest if one["tool"] == "store"]
    assert told[:3] == [
        ("s3_put_bucket_policy", "denied"),
        ("s3_delete_object", "denied"),
        ("s3_copy_object", "denied"),
    ]
    assert told.count(("s3_get_object", "completed")) == 2
