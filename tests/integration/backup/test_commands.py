"""``headgate backup`` and ``restore`` with a real database: each refusal, and what an interruption leaves."""

import json
import signal
import subprocess
import zipfile
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from psycopg import sql

from headgate.configuration.data_directory import DataDirectory
from headgate.runtime.folders import instance_lock
from tests.e2e.waiting import wait_for
from tests.integration.backup.conftest import PASSPHRASE, Run, command, environment, opened

_KNOWN = {"HEADGATE_BACKUP_PASSPHRASE": PASSPHRASE}


def test_a_backup_of_a_stopped_instance_is_whole(backup: Path, run: Run) -> None:
    for known in ({}, _KNOWN):
        done = run("backup", "verify", backup, **known)
        assert done.returncode == 0, done.stderr
        assert "1 organization, with keys, encrypted" in done.stdout
    answer = json.loads(run("backup", "verify", backup, "--json").stdout)
    assert answer["valid"]
    assert answer["organizations"][0]["seq"] >= 0
    assert backup.stat().st_mode & 0o777 == 0o600


def test_nothing_is_written_unencrypted_without_being_told_to(made: Path, run: Run, tmp_path: Path) -> None:
    done = run("backup", "create", "--data-dir", made, "--output", tmp_path / "x")
    assert done.returncode == 1
    assert "Give a passphrase for it with --passphrase-file" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_restored_folder_is_backed_up_and_restored_again(backup: Path, run: Run, tmp_path: Path) -> None:
    assert run("restore", backup, "--data-dir", tmp_path / "a", **_KNOWN).returncode == 0
    again = run("backup", "create", "--data-dir", tmp_path / "a", "--output", tmp_path, "--unencrypted", "--json")
    assert again.returncode == 0, again.stderr
    done = run("restore", json.loads(again.stdout)["file"], "--data-dir", tmp_path / "b", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["backup_id"] == json.loads(again.stdout)["backup_id"]


@pytest.mark.parametrize(
    ("known", "said"),
    [
        ({}, "is encrypted: give its passphrase with --passphrase-file"),
        ({"HEADGATE_BACKUP_PASSPHRASE": "wrong horse battery staple"}, "the passphrase is not the one that"),
    ],
)
def test_another_passphrase_is_refused(
    backup: Path, run: Run, tmp_path: Path, known: dict[str, str], said: str
) -> None:
    done = run("restore", backup, "--data-dir", tmp_path / "new", **known)
    assert done.returncode == 1
    assert said in done.stderr
    assert not (tmp_path / "new").exists()


def test_half_a_backup_is_refused(backup: Path, run: Run, tmp_path: Path) -> None:
    half = tmp_path / "half.backup"
    half.write_bytes(backup.read_bytes()[:-5000])
    for words in (("backup", "verify", half), ("restore", half, "--data-dir", tmp_path / "new")):
        done = run(*words, **_KNOWN)
        assert done.returncode == 1
        assert f"{half} is not a whole backup" in done.stderr
    assert not (tmp_path / "new").exists()


def test_a_changed_backup_is_refused(backup: Path, run: Run, tmp_path: Path) -> None:
    changed = tmp_path / "changed.backup"
    content = bytearray(backup.read_bytes())
    content[len(content) // 2] ^= 1
    changed.write_bytes(content)
    done = run("restore", changed, "--data-dir", tmp_path / "new", **_KNOWN)
    assert done.returncode == 1
    assert "was changed or is damaged" in done.stderr
    assert not (tmp_path / "new").exists()


def test_a_changed_manifest_is_refused(backup: Path, run: Run, tmp_path: Path) -> None:
    """Whoever may write the file can fit the digests, but not the seal."""
    changed = tmp_path / "changed.backup"
    with zipfile.ZipFile(backup) as source, zipfile.ZipFile(changed, "w") as target:
        for name in source.namelist():
            content = source.read(name)
            if name == "manifest.json":
                content = content.replace(b'"owner": "headgate_owner"', b'"owner": "headgate_other"')
            target.writestr(name, content)
    done = run("backup", "verify", changed, **_KNOWN)
    assert done.returncode == 1
    assert "its manifest was changed after the backup was made" in done.stderr


def test_a_folder_that_is_not_empty_is_refused_and_kept_with_replace(backup: Path, run: Run, tmp_path: Path) -> None:
    target = tmp_path / "data"
    target.mkdir()
    (target / "precious").write_text("kept")
    refused = run("restore", backup, "--data-dir", target, **_KNOWN)
    assert refused.returncode == 1
    assert f"{target} is not empty (it has precious): a restore overwrites nothing" in refused.stderr
    assert [one.name for one in target.iterdir()] == ["precious"]
    done = run("restore", backup, "--data-dir", target, "--replace", "--json", **_KNOWN)
    assert done.returncode == 0, done.stderr
    aside = Path(json.loads(done.stdout)["kept_before"])
    assert (aside / "precious").read_text() == "kept"
    assert (target / "postgres").is_dir()


def test_a_live_instance_is_refused(backup: Path, run: Run, tmp_path: Path) -> None:
    data = DataDirectory(tmp_path)
    with instance_lock(data):
        done = run("restore", backup, "--data-dir", tmp_path, "--replace", **_KNOWN)
    assert done.returncode == 1
    assert f"another instance runs in {tmp_path}" in done.stderr
    assert [one.name for one in tmp_path.iterdir()] == ["instance.lock"]


def test_a_later_schema_is_refused(made: Path, run: Run, tmp_path: Path) -> None:
    with (
        opened(made) as database,
        psycopg.connect(database, autocommit=True) as connection,
        instance_lock(DataDirectory(made)),
    ):
        connection.execute("INSERT INTO schema_migrations (name, checksum) VALUES ('9999_later', 'x')")
        try:
            words = ("backup", "create", "--data-dir", made, "--output", tmp_path / "later", "--unencrypted")
            assert run(*words).returncode == 0
        finally:
            connection.execute("DELETE FROM schema_migrations WHERE name = '9999_later'")
    done = run("restore", tmp_path / "later", "--data-dir", tmp_path / "new")
    assert done.returncode == 1
    assert "of a later version of Headgate (it has 9999_later): upgrade this installation" in done.stderr
    assert not (tmp_path / "new").exists()


def test_a_backup_without_keys_needs_them_elsewhere(made: Path, run: Run, tmp_path: Path) -> None:
    with (
        opened(made) as database,
        psycopg.connect(database, autocommit=True) as connection,
        instance_lock(DataDirectory(made)),
    ):
        org_id, key_id = "org_00000000-0000-7000-8000-000000000001", "k9-00000000"
        connection.execute(
            "INSERT INTO vault_secrets (org_id, name, key_id, wrapped_key, ciphertext) VALUES"
            " (%s, 'a', %s, '\\x00', '\\x00')",
            [org_id, key_id],
        )
        try:
            refused = run("backup", "create", "--data-dir", made, "--output", tmp_path / "a", "--unencrypted")
            assert refused.returncode == 1
            assert f"encrypted under the master keys {key_id}, which are not here" in refused.stderr
            words = ("backup", "create", "--data-dir", made, "--output", tmp_path / "a", "--unencrypted")
            assert run(*words, "--without-keys").returncode == 0
        finally:
            connection.execute("DELETE FROM vault_secrets")
    done = run("restore", tmp_path / "a", "--data-dir", tmp_path / "new")
    assert done.returncode == 1
    assert f"was made without keys, and stored secrets are encrypted under the master keys {key_id}" in done.stderr
    assert not (tmp_path / "new").exists()


def test_a_killed_backup_leaves_no_backup(made: Path, run: Run, tmp_path: Path) -> None:
    """It is killed while pg_dump waits for a table that somebody else has locked."""
    words = ("backup", "create", "--data-dir", made, "--output", tmp_path / "a.backup")
    with opened(made) as database:
        with psycopg.connect(database) as connection, instance_lock(DataDirectory(made)):
            connection.execute("LOCK TABLE settings")
            process = subprocess.Popen(command(*words), env=environment(**_KNOWN), stderr=subprocess.PIPE)
            wait_for((tmp_path / "a.backup.partial").exists, "the backup has begun")
            process.send_signal(signal.SIGKILL)
            process.communicate()
        assert [one.name for one in tmp_path.iterdir()] == ["a.backup.partial"]
        partial = run("restore", tmp_path / "a.backup.partial", "--data-dir", tmp_path / "new", **_KNOWN)
        assert "an interrupted backup: it was never finished" in partial.stderr
    done = run(*words, **_KNOWN)
    assert done.returncode == 0, done.stderr
    assert [one.name for one in tmp_path.iterdir()] == ["a.backup"]


def test_a_killed_restore_is_refused_by_up_and_done_again(backup: Path, run: Run, tmp_path: Path) -> None:
    words = ("restore", backup, "--data-dir", tmp_path / "data")
    process = subprocess.Popen(command(*words), env=environment(**_KNOWN), stderr=subprocess.PIPE)
    wait_for((tmp_path / "data/restoring/postgres").exists, "the restore has made a database")
    process.send_signal(signal.SIGKILL)
    process.communicate()
    up = run("up", "--data-dir", tmp_path / "data")
    assert up.returncode == 1
    assert f"a restore into {tmp_path / 'data'} was interrupted: run headgate restore again" in up.stderr
    done = run(*words, **_KNOWN)
    assert done.returncode == 0, done.stderr
    assert not (tmp_path / "data/restoring").exists()


def test_no_room_for_the_backup_is_told(made: Path, tmp_path: Path) -> None:
    """A limit of 100 KiB for each file of the command ends its writes as a full disk does."""
    words = command("backup", "create", "--data-dir", made, "--output", tmp_path / "a.backup")
    limited = ["bash", "-c", 'ulimit -f 100; exec "$@"', "bash", *words]
    with opened(made), instance_lock(DataDirectory(made)):
        done = subprocess.run(
            limited, env=environment(**_KNOWN), capture_output=True, text=True, check=False, timeout=100
        )
    assert done.returncode == 1
    assert f"the disk is full: {tmp_path / 'a.backup'} cannot be written, and no backup was made" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_database_role_that_does_not_see_all_rows_is_refused(run: Run, postgres_server, tmp_path: Path) -> None:
    urls = postgres_server.create_database()
    try:
        url = postgres_server.url("headgate_owner", urls.name)
        done = run("backup", "create", "--output", tmp_path / "a", "--unencrypted", HEADGATE_DATABASE_URL=url)
        assert done.returncode == 1
        assert "the role headgate_owner does not see the rows of all organizations" in done.stderr
        assert "CREATE ROLE headgate_backup LOGIN BYPASSRLS" in done.stderr
    finally:
        postgres_server.drop_database(urls.name)


@pytest.fixture
def empty_database(postgres_server) -> Iterator[str]:
    """The owner's address, who is no superuser."""
    with psycopg.connect(postgres_server.administrator_url, autocommit=True) as connection:
        connection.execute("CREATE DATABASE restored OWNER headgate_owner")
    yield postgres_server.url("headgate_owner", "restored")
    postgres_server.drop_database("restored")


def test_a_database_of_ones_own_is_backed_up_and_restored(
    run: Run, postgres_server, empty_database: str, tmp_path: Path
) -> None:
    urls = postgres_server.create_database()
    owner = postgres_server.url("headgate_owner", urls.name)
    password = postgres_server.secrets.passwords["headgate_owner"]
    with psycopg.connect(postgres_server.administrator_url, autocommit=True) as connection:
        connection.execute(
            sql.SQL("CREATE ROLE headgate_backup LOGIN BYPASSRLS PASSWORD {}").format(sql.Literal(password.reveal()))
        )
        connection.execute("GRANT pg_read_all_data TO headgate_backup")
    reader = owner.replace("headgate_owner", "headgate_backup", 1)
    settings = {
        "HEADGATE_OWNER_DATABASE_URL": owner,
        "HEADGATE_BACKUP_DATABASE_URL": reader,
        "HEADGATE_DATA_DIR": str(tmp_path / "source"),
    }
    try:
        assert run("migrate", **settings).returncode == 0
        made = run("backup", "create", "--output", tmp_path / "a", "--unencrypted", "--json", **settings)
        assert made.returncode == 0, made.stderr
        onto = {"HEADGATE_OWNER_DATABASE_URL": empty_database}
        with psycopg.connect(empty_database):
            busy = run("restore", tmp_path / "a", "--data-dir", tmp_path / "new", **onto)
        assert busy.returncode == 1
        assert "1 other connections to this database are open: stop the instance" in busy.stderr
        done = run("restore", tmp_path / "a", "--data-dir", tmp_path / "new", "--json", **onto)
        assert done.returncode == 0, done.stderr
        for words in (("--data-dir", tmp_path / "other"), ("--database-only",)):
            again = run("restore", tmp_path / "a", *words, **onto)
            assert again.returncode == 1
            assert "this database is not empty" in again.stderr
        same = run("migrate", **onto)
        assert (same.returncode, same.stdout) == (0, "up to date\n"), same.stderr
        with psycopg.connect(postgres_server.url("postgres", "restored")) as connection:
            events = connection.execute("SELECT event_type FROM audit_events ORDER BY seq DESC LIMIT 1").fetchone()
            assert events == ("backup.restored",)
        before, after = (_schema_of(postgres_server, name) for name in (urls.name, "restored"))
        assert sorted(before - after, key=str) == []
        assert after == before
    finally:
        postgres_server.drop_database(urls.name)
        with psycopg.connect(postgres_server.administrator_url, autocommit=True) as connection:
            connection.execute("DROP OWNED BY headgate_backup")
            connection.execute("DROP ROLE headgate_backup")


def _schema_of(postgres_server, name: str) -> set[tuple[object, ...]]:
    """Owners, rights and policies, which a dump could lose."""
    with psycopg.connect(postgres_server.url("postgres", name)) as connection:
        rows = connection.execute(
            "SELECT c.relname::text, pg_get_userbyid(c.relowner), c.relacl::text[], c.relforcerowsecurity"
            " FROM pg_class c WHERE c.relnamespace IN ('public'::regnamespace, 'queue'::regnamespace)"
            " UNION ALL SELECT p.oid::regprocedure::text, pg_get_userbyid(p.proowner), p.proacl::text[], p.prosecdef"
            " FROM pg_proc p WHERE p.pronamespace IN ('public'::regnamespace, 'queue'::regnamespace)"
            " UNION ALL SELECT polname || ' ' || polrelid::regclass, NULL, NULL, polpermissive FROM pg_policy"
        ).fetchall()
    return {(name, owner, frozenset(rights or ()), flag) for name, owner, rights, flag in rows}


def test_a_dump_that_the_manifest_does_not_tell_of_is_refused_again_and_again(
    made: Path, run: Run, empty_database: str, tmp_path: Path
) -> None:
    """The second run finds the dump in the database, and must not take it for checked."""
    plain, changed = tmp_path / "plain.backup", tmp_path / "changed.backup"
    created = run("backup", "create", "--data-dir", made, "--output", plain, "--unencrypted")
    assert created.returncode == 0, created.stderr
    with zipfile.ZipFile(plain) as source, zipfile.ZipFile(changed, "w") as target:
        for name in source.namelist():
            content = source.read(name)
            if name == "manifest.json":
                manifest = json.loads(content)
                manifest["heads"][0]["seq"] += 1
                content = json.dumps(manifest).encode()
            target.writestr(name, content)
    onto = {"HEADGATE_OWNER_DATABASE_URL": empty_database}
    for _ in range(2):
        done = run("restore", changed, "--data-dir", tmp_path / "new", **onto)
        assert done.returncode == 1, done.stdout
        assert "the backup was changed; use another one" in done.stderr


def test_a_restore_into_a_database_goes_on_where_it_was_interrupted(
    backup: Path, run: Run, empty_database: str, tmp_path: Path
) -> None:
    """What is left when it is killed after the dump: the mark, and nothing recorded yet."""
    onto = {"HEADGATE_OWNER_DATABASE_URL": empty_database, **_KNOWN}
    with psycopg.connect(empty_database, autocommit=True) as connection:
        connection.execute(
            "CREATE TABLE restore_in_progress (backup_id text, done text[] NOT NULL DEFAULT '{}',"
            " is_checked boolean NOT NULL DEFAULT false)"
        )
        connection.execute("INSERT INTO restore_in_progress (backup_id) VALUES ('bkp_other')")
    refused = run("migrate", **onto)
    assert refused.returncode == 1
    assert "a restore into this database was interrupted" in refused.stderr
    other = run("restore", backup, "--data-dir", tmp_path / "new", **onto)
    assert "a restore of another backup (bkp_other) into this database was interrupted" in other.stderr
    backup_id = json.loads(run("backup", "verify", backup, "--json").stdout)["backup_id"]
    with psycopg.connect(empty_database, autocommit=True) as connection:
        connection.execute("UPDATE restore_in_progress SET backup_id = %s", [backup_id])
    done = run("restore", backup, "--data-dir", tmp_path / "new", **onto)
    assert done.returncode == 0, done.stderr
    with psycopg.connect(empty_database, autocommit=True) as connection:
        assert connection.execute("SELECT to_regclass('restore_in_progress')").fetchone() == (None,)
