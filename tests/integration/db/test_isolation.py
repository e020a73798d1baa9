"""Every table that holds an organization's rows shows them to that organization only, and every function that reaches
across is safe from whoever calls it: read from the catalogue of the database, so that a new one cannot be forgotten."""

import psycopg
import pytest

WITHOUT_ORGANIZATION = {"instances", "schema_migrations", "login_attempts", "passkey_challenges"}
PARTITIONS = {"ensure_audit_partitions", "ensure_body_partition", "drop_empty_body_partitions"}


@pytest.fixture(scope="module")
def server(cluster):
    with psycopg.connect(cluster.dsn("postgres"), autocommit=True) as connection:
        yield connection


def test_every_table_is_isolated(server) -> None:
    tables = server.execute(
        "SELECT c.oid, c.relname, c.relrowsecurity, c.relforcerowsecurity, c.relispartition,"
        " EXISTS (SELECT FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attname = 'org_id'"
        " AND a.attnotnull AND NOT a.attisdropped)"
        " FROM pg_class c WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p')"
    ).fetchall()
    assert {name for _, name, _, _, _, has in tables if not has} == WITHOUT_ORGANIZATION
    assert len(tables) > 40
    for oid, name, enabled, forced, is_partition, has in tables:
        if not has:
            continue
        if is_partition:
            # Reached through its parent only: no part may name it.
            granted = server.execute(
                "SELECT count(*) FROM unnest(ARRAY['api', 'proxy', 'worker', 'auditor']) AS part,"
                " unnest(ARRAY['SELECT', 'INSERT', 'UPDATE', 'DELETE']) AS right_"
                " WHERE has_table_privilege('headgate_' || part, %s::oid, right_)",
                [oid],
            ).fetchall()
            assert granted == [(0,)], name
            continue
        assert (enabled, forced) == (True, True), name
        policies = server.execute(
            "SELECT policyname, permissive, roles::text, cmd, qual, with_check FROM pg_policies"
            " WHERE schemaname = 'public' AND tablename = %s ORDER BY policyname",
            [name],
        ).fetchall()
        assert policies == [
            ("definer_functions", "PERMISSIVE", "{headgate_definer}", "ALL", "true", "true"),
            (
                "one_organization", "PERMISSIVE", "{public}", "ALL",
                "(org_id = current_org())", "(org_id = current_org())",
            ),
        ], name  # fmt: skip


def test_every_definer_function_looks_where_nobody_else_writes(server) -> None:
    functions = server.execute(
        "SELECT p.proname, pg_get_userbyid(p.proowner), p.proconfig FROM pg_proc p"
        " WHERE p.pronamespace = 'public'::regnamespace AND p.prosecdef"
    ).fetchall()
    assert len(functions) > 40
    for name, owner, settings in functions:
        # Partitions are the owner's to make.
        is_of_partitions = name in PARTITIONS or name.endswith("_partitions")
        assert owner == ("headgate_owner" if is_of_partitions else "headgate_definer"), name
        paths = [one.partition("=")[2] for one in settings or [] if one.startswith("search_path=")]
        assert paths in (["public, pg_temp"], ["queue, pg_temp"]), name


@pytest.mark.parametrize("part", ["api", "proxy", "worker", "auditor"])
def test_no_part_makes_anything(server, part: str) -> None:
    for schema in ("public", "queue"):
        [(may,)] = server.execute(
            "SELECT has_schema_privilege(%s, %s, 'CREATE')", [f"headgate_{part}", schema]
        ).fetchall()
        assert not may, schema


def test_nobody_goes_around_and_nobody_is_the_definer(server) -> None:
    roles = server.execute(
        "SELECT rolname, rolbypassrls OR rolsuper, rolcanlogin FROM pg_roles WHERE rolname LIKE 'headgate\\_%'"
    ).fetchall()
    assert {name for name, goes_around, _ in roles if goes_around} == set()
    assert [can_log_in for name, _, can_log_in in roles if name == "headgate_definer"] == [False]
    members = server.execute(
        "SELECT m.member::regrole::text FROM pg_auth_members m WHERE m.roleid = 'headgate_definer'::regrole"
    ).fetchall()
    assert {name for (name,) in members} <= {"headgate_owner", "postgres"}
