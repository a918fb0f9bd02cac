# SPDX-License-Identifier: Apache-2.0
"""Debian's packages: fetched from the machine's own mirror, checked with its keyring and against our list of them, and
unpacked, never configured."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import tempfile
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from doorbell import build
from doorbell.errors import UserError

# Pulled in as dependencies of maintainer scripts, boot loaders or optional tools; not run here, so not unpacked.
SKIPPED = re.compile(
    r"^(python3|libpython3|initramfs-tools|dracut|klibc-utils|libklibc|systemd|udev|adduser|debconf|dpkg|passwd|"
    r"init-system-helpers|libicu|linux-base_|tzdata|media-types|libpam-|libasound2-data|login\.defs|cpio|uuid-runtime)"
)
PRUNED = ("usr/share/doc", "usr/share/man", "usr/share/locale", "usr/share/info", "usr/share/lintian", "usr/games")
SUITES = "trixie trixie-backports"
BACKPORTS = "qemu-* seabios ipxe-qemu"  # of QEMU: vfio-user-pci needs 10.1
RETRIES = 3  # of a download
LOCK = Path(__file__).with_name("packages.lock")
"""Name, version and SHA-256 of the packages that roots are made of."""


def fetch(work: Path, packages: tuple[str, ...], backports: str) -> tuple[Path, dict[str, list[str]]]:
    """The tree of these packages and of what they need, and the files of each; `packages` lists them."""
    if os.uname().machine != "x86_64":
        raise UserError("the guest root is for x86-64 machines only")
    for tool in ("apt-get", "dpkg-deb", "apt-config"):
        if not shutil.which(tool):
            raise UserError(f"`{tool}` not found: making the guest root needs a Debian or Ubuntu machine")
    mirror, keyring = _mirror()
    with tempfile.TemporaryDirectory(prefix="doorbell-apt-") as scratch:
        debs = _download(Path(scratch), mirror, keyring, packages, backports)
        (work / "packages").write_text("".join(f"{line}\n" for line in checked(debs)))
        build.say(f"unpacking {len(debs)} packages")
        tree = work / "root"
        tree.mkdir()
        return tree, _unpack(tree, debs)


def locked() -> dict[tuple[str, str], str]:
    """SHA-256 of each package of the lock file, by its name and version."""
    lines = [line.split() for line in LOCK.read_text().splitlines() if line and not line.startswith("#")]
    return {(name, version): digest for name, version, digest in lines}


def pins(backports: str) -> str:
    """What apt prefers: the locked version where the mirror has it; of kernels, of which two are locked, a suite's."""
    stable, newer = SUITES.split()
    pins = [(backports, f"release n={newer}") if backports else ("linux-*", f"release n={stable}")]
    names = Counter(name for name, _ in locked())
    pins += [(name, f"version {version}") for name, version in locked() if names[name] == 1]
    return "\n".join(f"Package: {name}\nPin: {pin}\nPin-Priority: 990\n" for name, pin in pins)


def checked(debs: Iterable[Path]) -> list[str]:
    """Lines of a lock file for these packages; what is locked has to be what was fetched, if it is the same version."""
    lock, lines, others = locked(), [], []
    for deb in debs:
        name, version, _ = deb.stem.replace("%3a", ":").split("_")
        digest = hashlib.sha256(deb.read_bytes()).hexdigest()
        lines.append(f"{name} {version} {digest}")
        if (name, version) not in lock:
            others.append(f"{name} {version}")
        elif lock[name, version] != digest:
            raise UserError(
                f"the mirror's package {name} {version} is not the one of {LOCK.name}: its SHA-256 is {digest}; "
                "do not use this mirror"
            )
    if others:
        build.say(f"not in {LOCK.name}, so signed by Debian, but not tried with Doorbell: {', '.join(others)}")
    return lines


def _mirror(apt: Path = Path("/etc/apt")) -> tuple[str, str]:
    """The Debian archive this machine installs from, and the keyring that it trusts for it. Others call their folder
    /debian, too: what has not Debian's keys is taken only where nothing else is.
    """
    keyring = "/usr/share/keyrings/debian-archive-keyring.gpg"
    found: list[tuple[str, str]] = []
    folder = apt / "sources.list.d"
    for file in [apt / "sources.list", *(sorted(folder.iterdir()) if folder.is_dir() else [])]:
        if not file.is_file() or file.suffix not in (".list", ".sources"):
            continue
        try:
            text = file.read_text(errors="replace")
        except PermissionError:
            continue  # root's alone: of a private archive, with its password
        if file.suffix == ".sources":
            for stanza in re.split(r"\n\s*\n", text):
                fields = dict(re.findall(r"^([\w-]+):[ \t]*(.*)$", stanza, re.M))
                if fields.get("Enabled", "yes").lower() != "no" and "deb" in fields.get("Types", "").split():
                    found += [(u, fields.get("Signed-By", "")) for u in fields.get("URIs", "").split()]
        else:
            for options, uri in re.findall(r"^deb\s+(?:\[(.*?)\]\s+)?(\S+)", text, re.M):
                signed = re.search(r"signed-by=(\S+)", options, re.I)
                found.append((uri, signed.group(1) if signed else ""))
    found = [(uri, signed) for uri, signed in found if uri.rstrip("/").endswith("/debian")]
    found.sort(key=lambda entry: bool(entry[1]) and "debian-archive-keyring" not in entry[1])
    uri, signed = found[0] if found else ("http://deb.debian.org/debian", "")
    keyring = signed if signed.startswith("/") else keyring
    if not Path(keyring).exists():
        raise UserError(f"{keyring} not found: install the package debian-archive-keyring")
    return uri, keyring


def _download(apt: Path, mirror: str, keyring: str, packages: tuple[str, ...], backports: str) -> list[Path]:
    for name in ("lists/partial", "archives/partial"):
        (apt / name).mkdir(parents=True)
    (apt / "status").touch()
    (apt / "none").mkdir()
    (apt / "sources.sources").write_text(
        f"Types: deb\nURIs: {mirror}\nSuites: {SUITES}\nComponents: main\nSigned-By: {keyring}\n"
    )
    (apt / "preferences").write_text(pins(backports))
    # APT_CONFIG is read after the machine's own configuration, so that its proxy settings hold.
    (apt / "apt.conf").write_text(
        f'Dir::State "{apt}"; Dir::State::status "{apt}/status"; Dir::State::lists "{apt}/lists"; Dir::Cache "{apt}";'
        f'Dir::Cache::archives "{apt}/archives"; Dir::Etc::sourcelist "{apt}/sources.sources";'
        f'Dir::Etc::sourceparts "{apt}/none"; Dir::Etc::preferences "{apt}/preferences";'
        f'Dir::Etc::preferencesparts "{apt}/none"; APT::Architecture "amd64"; APT::Sandbox::User "";'
        f'APT::Install-Recommends "false"; Acquire::Languages "none"; Acquire::Retries "{RETRIES}";'
        'APT::Update::Error-Mode "any"; Debug::NoLocking "true";'  # else an index that does not come is left out
        'Acquire::IndexTargets::deb::DEP-11::DefaultEnabled "false"; Dpkg::Use-Pty "0";'
        "#clear APT::Architectures; #clear APT::Update::Post-Invoke; #clear APT::Update::Post-Invoke-Success;"
        "#clear DPkg::Post-Invoke; #clear APT::Update::Pre-Invoke; #clear DPkg::Pre-Install-Pkgs;\n"
    )
    env = os.environ | {"APT_CONFIG": str(apt / "apt.conf"), "LC_ALL": "C", "DEBIAN_FRONTEND": "noninteractive"}

    def run(*args: str) -> None:
        done = subprocess.run(["apt-get", "-qq", *args], env=env, stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, check=False)  # fmt: skip
        if done.returncode:
            why = next((ln for ln in done.stderr.splitlines() if ln.startswith("E:")), "no reason given")
            raise UserError(f"fetching the guest's packages failed ({why}): check the network and the apt sources")

    run("update")
    build.say(f"fetching packages from {mirror}")
    run("-y", "--download-only", "--no-install-recommends", "install", *packages)
    return sorted((apt / "archives").glob("*.deb"))


def _unpack(tree: Path, debs: Iterable[Path]) -> dict[str, list[str]]:
    """Unpack; answer the file names of each package. base-files first: it brings the merged-/usr links."""
    files: dict[str, list[str]] = {}
    for deb in sorted(debs, key=lambda d: not d.name.startswith("base-files_")):
        if SKIPPED.match(deb.name):
            continue
        listing = subprocess.run(["dpkg-deb", "--vextract", deb, tree], capture_output=True, text=True, check=False)
        if listing.returncode:
            why = next(iter(listing.stderr.splitlines()), f"exit status {listing.returncode}")
            raise UserError(f"cannot unpack {deb.name}: {why}")
        files[deb.name.split("_")[0]] = [f.removeprefix("./").rstrip("/") for f in listing.stdout.splitlines()]
    for name in PRUNED:
        shutil.rmtree(tree / name, ignore_errors=True)
    return files
