# SPDX-License-Identifier: Apache-2.0
"""The small Debian root that `doorbell vm` runs QEMU and its guest from.

Packages come from the machine's own Debian mirror, checked with its own keyring, and are unpacked (never configured)
into the cache; so nothing is installed on the machine, and no root is needed. QEMU runs by the root's dynamic
loader. The guest is an initramfs made of the same packages: kernel, bash, coreutils, util-linux, e2fsprogs,
nvme-cli, pciutils, fio, kmod, busybox.
"""

from __future__ import annotations

import os
import re
import shutil
import stat
import subprocess
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from doorbell import build
from doorbell.errors import UserError

# What the guest's programs come from; their executables and all libraries that these need go into the initramfs.
GUEST_PACKAGES = (
    "bash", "bsdextrautils", "busybox", "coreutils", "dash", "debianutils", "diffutils", "e2fsprogs", "fdisk",
    "findutils", "fio", "grep", "gzip", "kmod", "libc-bin", "mawk", "mount", "ncurses-bin", "nvme-cli", "pciutils",
    "procps", "sed", "tar", "util-linux",
)  # fmt: skip
OTHER_PACKAGES = ("base-files", "linux-image-cloud-amd64", "ncurses-base", "qemu-system-x86")
# Pulled in as dependencies of maintainer scripts, boot loaders or optional tools; not run here, so not unpacked.
SKIPPED = re.compile(
    r"^(python3|libpython3|initramfs-tools|dracut|klibc-utils|libklibc|systemd|udev|adduser|debconf|dpkg|passwd|"
    r"init-system-helpers|linux-base|tzdata|media-types|libpam-|libasound2-data|login\.defs|cpio|uuid-runtime)"
)
PRUNED = ("usr/share/doc", "usr/share/man", "usr/share/locale", "usr/share/info", "usr/share/lintian", "usr/games")
SUITES = "trixie trixie-backports"
BACKPORTS = "qemu-* seabios ipxe-qemu"  # vfio-user-pci needs QEMU >= 10.1
KERNEL_MODULES = ("kernel/fs/xfs", "kernel/fs/fat", "kernel/fs/nls", "kernel/lib/libcrc32c.ko.xz")
LIB = "usr/lib/x86_64-linux-gnu"
RECIPE = 4  # raise when this file changes what a root contains

INIT = """#!/bin/bash
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8
mount -t devtmpfs dev /dev
mkdir -p /dev/pts /dev/shm
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t tmpfs tmp /tmp
mount -t tmpfs run /run
mount -t devpts pts /dev/pts
mount -t debugfs debug /sys/kernel/debug 2>/dev/null
ln -s /proc/self/fd /dev/fd
hostname doorbell
port() {  # the character device of the virtio-serial port that is called $1
  local try name
  for try in {1..100}; do
    for name in /sys/class/virtio-ports/*/name; do
      [[ -e $name && $(<"$name") == "$1" ]] && { name=${name%/name}; echo "/dev/${name##*/}"; return; }
    done
    sleep 0.05
  done
  echo "doorbell: no virtio port $1" >/dev/console
  return 1
}
cd /root
if [[ -e /job ]]; then
  out=$(port doorbell.out) && status=$(port doorbell.status) && {
    /job </dev/null >"$out" 2>&1
    code=$?
    cd /
    sync
    echo $code >"$status"
  }
else
  echo 'Doorbell: the drive is /dev/nvme0n1; leave with exit or Ctrl-D.'
  setsid -c /bin/bash -il </dev/ttyS1 >/dev/ttyS1 2>&1
fi
cd /
umount -a -r -t ext4,xfs,vfat 2>/dev/null
sync
busybox poweroff -f
"""


@dataclass(frozen=True)
class Root:
    """A finished root in the cache."""

    path: Path

    @property
    def kernel(self) -> Path:
        return self.path / "kernel"

    @property
    def initramfs(self) -> Path:
        return self.path / "initramfs"

    def command(self, program: str) -> list[str]:
        """The command line prefix that runs one of the root's programs on this machine."""
        return loader(self.path / "root", program)

    def qemu(self) -> tuple[list[str], dict[str, str]]:
        """QEMU's command line prefix and the environment it needs."""
        tree = self.path / "root"
        data = [a for d in ("qemu", "seabios") for a in ("-L", str(tree / "usr/share" / d))]
        return [*self.command("usr/bin/qemu-system-x86_64"), *data], {"QEMU_MODULE_DIR": str(tree / LIB / "qemu")}


def loader(tree: Path, program: str, *options: str) -> list[str]:
    """Run `program` of the unpacked tree by the tree's own dynamic loader and libraries."""
    libs = ":".join(str(tree / d) for d in (LIB, f"{LIB}/ceph", f"{LIB}/systemd"))
    return [str(tree / "usr/lib64/ld-linux-x86-64.so.2"), "--inhibit-cache", "--library-path", libs, *options,
            str(tree / program)]  # fmt: skip


def ensure() -> Root:
    """The root of this recipe; made first where the cache does not have it."""
    key = (RECIPE, GUEST_PACKAGES, OTHER_PACKAGES, SUITES, BACKPORTS, KERNEL_MODULES, SKIPPED.pattern, PRUNED, INIT)
    return Root(build.cached("vmroot", key, _make, "making the virtual machine's root (once; 120 MB to fetch)"))


# --- Packages


def _make(work: Path) -> None:
    if os.uname().machine != "x86_64":
        raise UserError("the guest root is for x86-64 machines only")
    for tool in ("apt-get", "dpkg-deb", "apt-config"):
        if not shutil.which(tool):
            raise UserError(f"`{tool}` not found: making the guest root needs a Debian or Ubuntu machine")
    mirror, keyring = _mirror()
    with tempfile.TemporaryDirectory(prefix="doorbell-apt-") as scratch:
        apt = Path(scratch)
        debs = _download(apt, mirror, keyring)
        build.say(f"unpacking {len(debs)} packages")
        tree = work / "root"
        tree.mkdir()
        files = _unpack(tree, debs)
    (work / "packages").write_text("".join(f"{d.stem}\n" for d in debs))
    build.say("building the guest's initramfs")
    kernels = sorted((tree / "boot").glob("vmlinuz-*"))
    if not kernels:
        raise UserError("the kernel package holds no kernel: report this as a bug")
    shutil.copy(kernels[-1], work / "kernel")
    with open(work / "initramfs", "wb") as f:
        _initramfs(f, tree, files, kernels[-1].name.removeprefix("vmlinuz-"))


def _mirror() -> tuple[str, str]:
    """The Debian archive this machine installs from, and the keyring that it trusts for it."""
    keyring = "/usr/share/keyrings/debian-archive-keyring.gpg"
    found = None
    folder = Path("/etc/apt/sources.list.d")
    for file in [Path("/etc/apt/sources.list"), *(sorted(folder.iterdir()) if folder.is_dir() else [])]:
        if not file.is_file() or file.suffix not in (".list", ".sources"):
            continue
        text = file.read_text(errors="replace")
        if file.suffix == ".sources":
            for stanza in re.split(r"\n\s*\n", text):
                fields = dict(re.findall(r"^([\w-]+):[ \t]*(.*)$", stanza, re.M))
                if fields.get("Enabled", "yes").lower() != "no" and "deb" in fields.get("Types", "").split():
                    entries = [(u, fields.get("Signed-By", "")) for u in fields.get("URIs", "").split()]
                    found = found or next((e for e in entries if _is_debian(e[0])), None)
        else:
            for options, uri in re.findall(r"^deb\s+(?:\[(.*?)\]\s+)?(\S+)", text, re.M):
                signed = re.search(r"signed-by=(\S+)", options, re.I)
                if _is_debian(uri):
                    found = found or (uri, signed.group(1) if signed else "")
    uri, signed = found or ("http://deb.debian.org/debian", "")
    keyring = signed if signed.startswith("/") else keyring
    if not Path(keyring).exists():
        raise UserError(f"{keyring} not found: install the package debian-archive-keyring")
    return uri, keyring


def _is_debian(uri: str) -> bool:
    return uri.rstrip("/").endswith("/debian")


def _download(apt: Path, mirror: str, keyring: str) -> list[Path]:
    for name in ("lists/partial", "archives/partial"):
        (apt / name).mkdir(parents=True)
    (apt / "status").touch()
    (apt / "none").mkdir()
    (apt / "sources.sources").write_text(
        f"Types: deb\nURIs: {mirror}\nSuites: {SUITES}\nComponents: main\nSigned-By: {keyring}\n"
    )
    (apt / "preferences").write_text(f"Package: {BACKPORTS}\nPin: release n={SUITES.split()[1]}\nPin-Priority: 990\n")
    # APT_CONFIG is read after the machine's own configuration, so that its proxy settings hold.
    (apt / "apt.conf").write_text(
        f'Dir::State "{apt}"; Dir::State::status "{apt}/status"; Dir::State::lists "{apt}/lists"; Dir::Cache "{apt}";'
        f'Dir::Cache::archives "{apt}/archives"; Dir::Etc::sourcelist "{apt}/sources.sources";'
        f'Dir::Etc::sourceparts "{apt}/none"; Dir::Etc::preferences "{apt}/preferences";'
        f'Dir::Etc::preferencesparts "{apt}/none"; APT::Architecture "amd64"; APT::Sandbox::User "";'
        'APT::Install-Recommends "false"; Acquire::Languages "none"; Acquire::Retries "3"; Debug::NoLocking "true";'
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
    run("-y", "--download-only", "--no-install-recommends", "install", *GUEST_PACKAGES, *OTHER_PACKAGES)
    return sorted((apt / "archives").glob("*.deb"))


def _unpack(tree: Path, debs: Iterable[Path]) -> dict[str, list[str]]:
    """Unpack; answer the file names of each package. base-files first: it brings the merged-/usr links."""
    files: dict[str, list[str]] = {}
    for deb in sorted(debs, key=lambda d: not d.name.startswith("base-files_")):
        if SKIPPED.match(deb.name):
            continue
        listing = subprocess.run(["dpkg-deb", "--vextract", deb, tree], check=True, capture_output=True, text=True)
        files[deb.name.split("_")[0]] = [f.removeprefix("./").rstrip("/") for f in listing.stdout.splitlines()]
    for name in PRUNED:
        shutil.rmtree(tree / name, ignore_errors=True)
    return files


# --- The guest's initramfs


class _Cpio:
    """Writes an uncompressed cpio archive of the kind the kernel unpacks (newc)."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._inode = 0
        self._seen: set[str] = set()

    def add(self, name: str, mode: int, data: bytes = b"", device: tuple[int, int] = (0, 0)) -> None:
        parent = os.path.dirname(name)
        if parent and parent not in self._seen:
            self.add(parent, stat.S_IFDIR | 0o755)
        if name in self._seen:
            return
        self._seen.add(name)
        self._inode += 1
        raw = name.encode() + b"\0"
        fields = (self._inode, mode, 0, 0, 1, 0, len(data), 0, 0, *device, len(raw), 0)
        head = b"070701" + b"".join(b"%08X" % f for f in fields) + raw
        self._file.write(head + b"\0" * (-len(head) % 4) + data + b"\0" * (-len(data) % 4))

    def link(self, name: str, target: str) -> None:
        self.add(name, stat.S_IFLNK | 0o777, target.encode())

    def copy(self, tree: Path, name: str) -> None:
        """Take a file of the tree by its name there, links followed to their files inside the tree as well."""
        source = tree / name
        if source.is_symlink():
            target = os.readlink(source)
            self.link(name, target)
            beside = target.lstrip("/") if target.startswith("/") else os.path.join(os.path.dirname(name), target)
            beside = os.path.normpath(beside)
            if (tree / beside).is_file() or (tree / beside).is_symlink():
                self.copy(tree, beside)
        elif source.is_file():
            self.add(name, stat.S_IFREG | (source.stat().st_mode & 0o777), source.read_bytes())

    def has(self, name: str) -> bool:
        return name in self._seen

    def end(self) -> None:
        self._seen.clear()
        self.add("TRAILER!!!", 0)
        self._file.write(b"\0" * (-self._file.tell() % 4096))


def write_more(file: BinaryIO, script: bytes | None, tools: Path) -> None:
    """Append the archive that gives the guest our tools, and its script if it has one; the kernel unpacks archives one
    after another."""
    cpio = _Cpio(file)
    if script is not None:
        cpio.add("job", stat.S_IFREG | 0o755, script)
    for tool in sorted(tools.iterdir()):
        cpio.add(f"usr/bin/{tool.name}", stat.S_IFREG | 0o755, tool.read_bytes())
    cpio.end()


def _initramfs(out: BinaryIO, tree: Path, files: dict[str, list[str]], version: str) -> None:
    cpio = _Cpio(out)
    for link in ("bin", "sbin", "lib", "lib64"):
        cpio.link(link, f"usr/{link}")
    for folder in ("dev", "proc", "sys", "tmp", "run", "mnt", "root", "var/log", "var/lib"):
        cpio.add(folder, stat.S_IFDIR | 0o755)
    cpio.add("dev/console", stat.S_IFCHR | 0o600, device=(5, 1))
    cpio.add("init", stat.S_IFREG | 0o755, INIT.encode())
    cpio.add("etc/passwd", stat.S_IFREG | 0o644, b"root::0:0:root:/root:/bin/bash\n")
    cpio.add("etc/group", stat.S_IFREG | 0o644, b"root:x:0:\ndisk:x:6:\nnogroup:x:65534:\n")
    cpio.add("etc/hosts", stat.S_IFREG | 0o644, b"127.0.0.1 localhost doorbell\n")
    cpio.link("etc/mtab", "/proc/self/mounts")
    cpio.copy(tree, "etc/mke2fs.conf")
    programs = []
    for package in GUEST_PACKAGES:
        for name in files.get(package, []):
            path = tree / name
            if os.path.dirname(name) in ("usr/bin", "usr/sbin") and path.is_file() and os.access(path, os.X_OK):
                cpio.copy(tree, name)
                if not path.is_symlink():
                    programs.append(name)
    for name in files.get("ncurses-base", []):
        if "/terminfo/" in name:
            cpio.copy(tree, name)
    for name in sorted(_libraries(tree, programs)):
        cpio.copy(tree, name)
    cpio.copy(tree, "usr/lib64/ld-linux-x86-64.so.2")
    # Debian finds these two by update-alternatives and by configuration of the C library; here they are spelled out.
    cpio.link("usr/bin/awk", "mawk")
    cpio.add("etc/ld.so.conf", stat.S_IFREG | 0o644, b"/usr/lib/x86_64-linux-gnu/ceph\n")
    busybox = subprocess.run([*loader(tree, "usr/bin/busybox", "--argv0", "busybox"), "--list"],
                             capture_output=True, text=True, check=False)  # fmt: skip
    for applet in busybox.stdout.split():
        if not any(cpio.has(f"{d}/{applet}") for d in ("usr/bin", "usr/sbin")):
            cpio.link(f"usr/bin/{applet}", "busybox")
    _modules(cpio, tree, version)
    cpio.end()


def _libraries(tree: Path, programs: Iterable[str]) -> set[str]:
    """Every shared library that the programs load, as names inside the tree."""
    found: set[str] = set()
    for name in programs:
        with open(tree / name, "rb") as f:
            if f.read(4) != b"\x7fELF":
                continue
        listing = subprocess.run(loader(tree, name, "--list"), capture_output=True, text=True, check=False)
        for library, path in re.findall(r"(\S+) => (\S+)", listing.stdout):
            if not path.startswith(f"{tree}/"):  # "not found", or found on this machine
                raise UserError(f"the guest's {name} needs {library}, which no package brought: report this as a bug")
            found.add(os.path.relpath(path, tree))
    return found


def _modules(cpio: _Cpio, tree: Path, version: str) -> None:
    """Some modules beside what the kernel has built in (NVMe, ext4, virtio are), and their list for modprobe."""
    base = f"usr/lib/modules/{version}"
    subprocess.run(loader(tree, "usr/bin/kmod", "--argv0", "depmod") + ["-b", str(tree), version],
                   check=False, capture_output=True)  # fmt: skip
    for name in sorted(p.name for p in (tree / base).glob("modules.*")):
        cpio.copy(tree, f"{base}/{name}")
    for entry in KERNEL_MODULES:
        path = tree / base / entry
        for file in sorted(path.rglob("*.ko*")) if path.is_dir() else [path]:
            cpio.copy(tree, str(file.relative_to(tree)))
