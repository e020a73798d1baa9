"""Maven: a repository in the default layout (Apache Maven, "Repository Layout"). Names are ``group:artifact``."""

import re
from collections.abc import Sequence
from typing import Final

from headgate.protocols.package import Ecosystem, PackageAction, PackageRequest, unreadable

_SEGMENT: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._+-]*")
_LISTING: Final = "maven-metadata.xml"
_SNAPSHOT: Final = "-SNAPSHOT"
_CHECKS: Final = re.compile(r"(?:\.(?:sha1|sha256|sha512|md5|asc))+\Z")
_DESCRIPTIONS: Final = (".pom", ".module")
_ACTIONS: Final = {"PUT": PackageAction.PUBLISH, "DELETE": PackageAction.REMOVE}


def read(method: str, segments: Sequence[str]) -> PackageRequest | None:
    """``segments``: of the path, decoded. Raises AmbiguousRequestError: a file is put where it does not belong."""
    if method not in ("GET", *_ACTIONS) or any(_SEGMENT.fullmatch(one) is None for one in segments):
        return None
    if not segments:
        return None
    *folders, last = segments
    file = _CHECKS.sub("", last)
    is_check = file != last
    if file == _LISTING and len(folders) > 1:
        is_snapshot = folders[-1].endswith(_SNAPSHOT) and len(folders) > 2
        *groups, artifact = folders[:-1] if is_snapshot else folders
        version = folders[-1] if is_snapshot else None
        return _request(_ACTIONS.get(method, PackageAction.METADATA), groups, artifact, version)
    if len(folders) < 3:
        return None
    *groups, artifact, version = folders
    if not _is_file_of(artifact, version, file):
        if method == "GET":
            return None
        raise unreadable(f"the file {file[:80]} is not one of {artifact} {version}")
    is_described = is_check or file.endswith(_DESCRIPTIONS)
    action = _ACTIONS.get(method, PackageAction.METADATA if is_described else PackageAction.INSTALL)
    return _request(action, groups, artifact, version)


def _is_file_of(artifact: str, version: str, file: str) -> bool:
    """``artifact-version.jar``, or with a classifier; of a snapshot the time stands for ``SNAPSHOT``."""
    beginning = f"{artifact}-{version}"
    if file.startswith((beginning + ".", beginning + "-")):
        return True
    return version.endswith(_SNAPSHOT) and file.startswith(f"{artifact}-{version.removesuffix(_SNAPSHOT)}-")


def _request(action: PackageAction, groups: Sequence[str], artifact: str, version: str | None) -> PackageRequest | None:
    return PackageRequest(Ecosystem.MAVEN, action, f"{'.'.join(groups)}:{artifact}", version) if groups else None
