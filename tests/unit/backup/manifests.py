"""A manifest for tests."""

from datetime import UTC, datetime

from headgate.backup.manifest import Head, Manifest

MANIFEST = Manifest(
    backup_id="bkp_01a21d25-906b-72aa-a8b4-731fc929d1f6",
    created_at=datetime(2026, 11, 27, 8, 0, tzinfo=UTC),
    created_by="ada@gate",
    program_version="1.0",
    server_version=180004,
    owner="headgate_owner",
    schema={"schema": "ab", "functions": "cd"},
    heads=(Head("org_1", 5, "ee" * 32, 2, None),),
    master_keys=("k1-0a1b2c3d",),
    parts=(),
)
