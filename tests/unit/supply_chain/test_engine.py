"""A wheel of the engine is kept by what it is made of, and a build that fails leaves none."""

import os
import time
from pathlib import Path

import pytest

from supply_chain.engine import digest, forget_unused, provide


def _sources(folder: Path) -> Path:
    (folder / "src" / "deep").mkdir(parents=True)
    (folder / "Cargo.toml").write_text("[package]")
    (folder / "src" / "lib.rs").write_text("mod deep;")
    (folder / "src" / "deep" / "mod.rs").write_text("")
    return folder


def _build(folder: Path) -> None:
    (folder / "engine.whl").write_text("built")


def test_the_digest_is_of_the_content_wherever_it_lies(tmp_path: Path) -> None:
    here, there = _sources(tmp_path / "here"), _sources(tmp_path / "there")
    first = digest(here, ["rustc 1.95", "x86_64"])
    (there / "tests").mkdir()
    (there / "tests" / "test_engine.py").write_text("no part of a wheel")
    (there / "src" / "left.so").write_text("left by a build")
    assert digest(there, ["rustc 1.95", "x86_64"]) == first
    assert digest(here, ["rustc 1.96", "x86_64"]) != first
    (there / "src" / "deep" / "mod.rs").rename(there / "src" / "deep.rs")
    assert digest(there, ["rustc 1.95", "x86_64"]) != first
    (here / "src" / "lib.rs").write_text("mod deep; ")
    assert digest(here, ["rustc 1.95", "x86_64"]) != first


def test_a_second_build_takes_what_the_first_made(tmp_path: Path) -> None:
    cache, one, two = tmp_path / "cache", tmp_path / "one", tmp_path / "two"
    two.mkdir()
    (two / "old.whl").touch()
    assert provide("key", cache, one, _build)
    assert not provide("key", cache, two, _never)
    assert [file.name for file in two.iterdir()] == ["engine.whl"]
    assert [kept.name for kept in cache.iterdir()] == ["key"]


def test_another_build_of_the_same_sources_may_end_first(tmp_path: Path) -> None:
    cache = tmp_path / "cache"

    def slow(folder: Path) -> None:
        provide("key", cache, tmp_path / "other", _build)
        (folder / "engine.whl").write_text("later")

    assert provide("key", cache, tmp_path / "ours", slow)
    assert (tmp_path / "ours" / "engine.whl").read_text() == "built"
    assert [kept.name for kept in cache.iterdir()] == ["key"]


def test_a_build_that_fails_keeps_nothing(tmp_path: Path) -> None:
    def half(folder: Path) -> None:
        (folder / "engine.whl").write_text("half")
        raise OSError("no space left on device")

    with pytest.raises(OSError, match="no space left"):
        provide("key", tmp_path / "cache", tmp_path / "into", half)
    assert list((tmp_path / "cache").iterdir()) == []
    assert not (tmp_path / "into").exists()


def test_what_no_build_took_for_two_months_goes(tmp_path: Path) -> None:
    now = time.time()
    for name, days in (("used", 59), ("unused", 61), ("building-x", 61)):
        (tmp_path / name).mkdir()
        os.utime(tmp_path / name, (now, now - days * 86_400))
    forget_unused(tmp_path, now)
    assert [kept.name for kept in tmp_path.iterdir()] == ["used"]


def _never(folder: Path) -> None:
    raise AssertionError(f"built into {folder}")
