# SPDX-License-Identifier: Apache-2.0
"""What is fetched for guests has to be what the lock file says."""

from __future__ import annotations

import errno
import hashlib
import os
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from doorbell.errors import UserError
from doorbell.qemu import packages


@pytest.fixture
def deb(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package whose version and hash are locked."""
    file = tmp_path / "fio_1%3a3.39-1_amd64.deb"
    file.write_bytes(b"a package")
    lock = tmp_path / "packages.lock"
    lock.write_text(
        f"# names\nfio 1:3.39-1 {hashlib.sha256(b'a package').hexdigest()}\nlinux-base 1 0\nlinux-base 2 0\n"
    )
    monkeypatch.setattr(packages, "LOCK", lock)
    return file


def test_a_locked_package_is_taken_and_listed(deb: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert packages.checked([deb]) == [packages.LOCK.read_text().splitlines()[1]]
    assert "fio" not in capsys.readouterr().err


def test_another_file_of_that_version_is_refused(deb: Path) -> None:
    deb.write_bytes(b"something else")
    with pytest.raises(UserError, match="fio 1:3.39-1 is not the one of packages.lock"):
        packages.checked([deb])


def test_a_newer_version_is_named(deb: Path, capsys: pytest.CaptureFixture[str]) -> None:
    newer = deb.rename(deb.with_name("fio_1%3a3.40-1_amd64.deb"))
    assert packages.checked([newer])[0].startswith("fio 1:3.40-1 ")
    assert "not tried with Doorbell: fio 1:3.40-1" in capsys.readouterr().err


def test_apt_prefers_what_is_locked_and_a_suites_kernel(deb: Path) -> None:
    stable, newer = (packages.pins(suite) for suite in ("", "linux-*"))
    assert "Package: fio\nPin: version 1:3.39-1\n" in stable and "linux-base" not in stable
    assert "Package: linux-*\nPin: release n=trixie\n" in stable
    assert "Package: linux-*\nPin: release n=trixie-backports\n" in newer


def test_both_kernels_are_locked() -> None:
    found = [version for name, version in packages.locked() if name == "linux-image-cloud-amd64"]
    assert len(found) == 2 and sum("~bpo13" in version for version in found) == 1
    assert all(re.fullmatch("[0-9a-f]{64}", digest) for digest in packages.locked().values())


@pytest.mark.skipif(not shutil.which("apt-get"), reason="roots are made of Debian's amd64 packages")
def test_an_index_that_does_not_come_is_not_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without that of backports, apt would take an older QEMU, and the root with it would be kept for good."""
    monkeypatch.setattr(packages, "RETRIES", 0)
    with pytest.raises(UserError, match=r"Failed to fetch http://127.0.0.1:9/debian/dists/trixie"):
        packages._download(tmp_path, "http://127.0.0.1:9/debian", str(tmp_path / "keyring"), ("bash",), "")


@pytest.mark.skipif(not shutil.which("dpkg-deb"), reason="roots are made of Debian's amd64 packages")
def test_what_cannot_be_unpacked_is_said(deb: Path, tmp_path: Path) -> None:
    """As on a disk that is full."""
    with pytest.raises(UserError, match="cannot unpack fio_1%3a3.39-1_amd64.deb: dpkg-deb: error: .*fio_1%3a3.39-1"):
        packages._unpack(tmp_path / "root", [deb])


def test_what_root_alone_may_read_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As of the super-user, whom nothing keeps from it."""
    keyring, read = tmp_path / "debian-archive-keyring.gpg", Path.read_text
    keyring.touch()
    (tmp_path / "sources.list.d").mkdir()
    for name in ("a-private.list", "debian.list"):
        line = f"deb [signed-by={keyring}] https://{name}.example/debian trixie main\n"
        (tmp_path / "sources.list.d" / name).write_text(line)

    def refuse(file: Path, **options: Any) -> str:
        if file.name == "a-private.list":
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(file))
        return read(file, **options)

    monkeypatch.setattr(Path, "read_text", refuse)
    assert packages._mirror(tmp_path)[0] == "https://debian.list.example/debian"


def test_the_mirror_is_debians(tmp_path: Path) -> None:
    """Whatever else there is in a folder of that name; of one's own, with one's own keys, only where it is alone."""
    folder, own, other = tmp_path / "sources.list.d", tmp_path / "debian-archive-keyring.gpg", tmp_path / "other.gpg"
    folder.mkdir()
    own.touch()
    other.touch()
    (folder / "caddy.list").write_text(f"deb [signed-by={other}] https://caddy.example/deb/debian any-version main\n")
    assert packages._mirror(tmp_path) == ("https://caddy.example/deb/debian", str(other))
    (folder / "debian.sources").write_text(
        f"Types: deb\nURIs: http://near.example/debian\nSuites: trixie\nComponents: main\nSigned-By: {own}\n"
    )
    assert packages._mirror(tmp_path) == ("http://near.example/debian", str(own))
    (tmp_path / "sources.list").write_text("deb http://old.example/debian/ trixie main\n")
    (folder / "debian.sources").unlink()
    keyring = "/usr/share/keyrings/debian-archive-keyring.gpg"
    if Path(keyring).exists():
        assert packages._mirror(tmp_path) == ("http://old.example/debian/", keyring)
