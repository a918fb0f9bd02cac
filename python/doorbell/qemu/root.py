# SPDX-License-Identifier: Apache-2.0
"""The small Debian root that `doorbell vm` runs QEMU and its guest from.

Its packages (packages.py) are unpacked into the cache; so nothing is installed on the machine, and no root is needed.
QEMU runs by the root's dynamic loader. The guest is an initramfs made of the same packages, and a kernel with some of
its modules, which is a thing of its own in the cache: there are two.
"""

from __future__ import annotations

import os
import re
import shutil
import stat
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import BinaryIO

from doorbell import build
from doorbell.errors import UserError
from doorbell.qemu import packages

# What the guest's programs come from; their executables and all libraries that these need go into the initramfs.
GUEST_PACKAGES = (
    "bash", "bsdextrautils", "busybox", "coreutils", "dash", "debianutils", "diffutils", "e2fsprogs", "fdisk",
    "findutils", "fio", "grep", "gzip", "kmod", "libc-bin", "mawk", "mdadm", "mount", "ncurses-bin", "nvme-cli",
    "pciutils", "procps", "sed", "tar", "util-linux", "dmsetup", "xfsprogs",
)  # fmt: skip
LEFT_OUT = ("usr/sbin/mdmon", "usr/sbin/xfs_scrub", "usr/sbin/xfs_spaceman")
"""Programs of these packages that no guest needs; xfs_scrub alone wants 30 MB of libraries."""
OTHER_PACKAGES = ("base-files", "ncurses-base", "qemu-system-x86")
KERNEL_PACKAGE = "linux-image-cloud-amd64"
KERNEL_MODULES = (
    "xfs", "fat", "vfat", "nls_ascii", "nls_cp437", "nls_iso8859_1", "nls_utf8", "raid1", "dm_mod", "dm_crypt", "xts",
    "aesni_intel", "mq_deadline", "kyber_iosched", "bfq",
)  # fmt: skip
"""Beside what a kernel has built in: these, and what they need."""
LIB = "usr/lib/x86_64-linux-gnu"
RECIPE = 5  # raise when this file changes what a root contains

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
[[ $(</sys/power/suspend_stats/success) == 0 ]] || busybox reboot -f  # QEMU has no power-off after a sleep
busybox poweroff -f
"""


class Kernel(str, Enum):  # noqa: UP042 - typer wants the names
    """Which of Debian's kernels a guest has."""

    stable = "stable"
    backports = "backports"


@dataclass(frozen=True)
class Root:
    """A finished root in the cache."""

    path: Path
    kernel_path: Path

    @property
    def kernel(self) -> Path:
        return self.kernel_path / "kernel"

    @property
    def initramfs(self) -> list[Path]:
        """Archives that the kernel unpacks one after another."""
        return [self.path / "initramfs", self.kernel_path / "modules"]

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


def ensure(kernel: Kernel = Kernel.stable) -> Root:
    """The root of this recipe with that kernel; made first where the cache does not have it."""
    lock = packages.LOCK.read_text()
    fetched = (packages.SUITES, packages.BACKPORTS, packages.SKIPPED.pattern, packages.PRUNED, lock)
    key: tuple[object, ...] = (RECIPE, GUEST_PACKAGES, LEFT_OUT, OTHER_PACKAGES, fetched, INIT)
    path = build.cached("vmroot", key, _make, "making the virtual machine's root (once; 90 MB to fetch)")
    key = (RECIPE, KERNEL_PACKAGE, KERNEL_MODULES, fetched, kernel.value)
    what = f"making the guest's kernel of {kernel.value} (once; 40 MB to fetch)"
    return Root(path, build.cached("vmkernel", key, lambda work: _make_kernel(work, path / "root", kernel), what))


def _make(work: Path) -> None:
    tree, files = packages.fetch(work, (*GUEST_PACKAGES, *OTHER_PACKAGES), packages.BACKPORTS)
    build.say("building the guest's initramfs")
    with open(work / "initramfs", "wb") as f:
        _initramfs(f, tree, files)


def _make_kernel(work: Path, root: Path, kernel: Kernel) -> None:
    """root: the tree that has depmod."""
    tree, _ = packages.fetch(work, (KERNEL_PACKAGE,), "linux-*" if kernel == Kernel.backports else "")
    images = [*(tree / "boot").glob("vmlinuz-*"), *(tree / "usr/lib/modules").glob("*/vmlinuz")]
    if len(images) != 1:
        raise UserError(f"the kernel packages hold {len(images)} kernels: report this as a bug")
    (version,) = (p.name for p in (tree / "usr/lib/modules").iterdir())
    shutil.copy(images[0], work / "kernel")
    with open(work / "modules", "wb") as f:
        _modules(f, root, tree, version)
    shutil.rmtree(tree)


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

    def skip(self, name: str) -> None:
        """Another archive has it."""
        self._seen.add(name)

    def has(self, name: str) -> bool:
        return name in self._seen

    def end(self) -> None:
        self._seen.clear()
        self.add("TRAILER!!!", 0)
        self._file.write(b"\0" * (-self._file.tell() % 4096))


def write_more(file: BinaryIO, script: bytes | None, tools: Path, files: Iterable[Path] = ()) -> None:
    """Append the archive that gives the guest our tools, its script if it has one, and files to /root; the kernel
    unpacks archives one after another."""
    cpio = _Cpio(file)
    if script is not None:
        cpio.add("job", stat.S_IFREG | 0o755, script)
    for tool in sorted(tools.iterdir()):
        cpio.add(f"usr/bin/{tool.name}", stat.S_IFREG | 0o755, tool.read_bytes())
    for one in files:
        cpio.add(f"root/{one.name}", stat.S_IFREG | (one.stat().st_mode & 0o777), one.read_bytes())
    cpio.end()


def _initramfs(out: BinaryIO, tree: Path, files: dict[str, list[str]]) -> None:
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
            if name in LEFT_OUT:
                continue
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
    cpio.end()


def _libraries(tree: Path, programs: Iterable[str]) -> set[str]:
    """Every shared library that the programs load, as names inside the tree."""
    found: set[str] = set()
    for name in programs:
        with open(tree / name, "rb") as f:
            if f.read(4) != b"\x7fELF":
                continue
        listing = subprocess.run(loader(tree, name, "--list"), capture_output=True, text=True, check=False)
        for library, path in re.findall(r"^\s*(\S+) => (.+?)(?: \(0x[0-9a-f]+\))?$", listing.stdout, re.M):
            if not path.startswith(f"{tree}/"):  # "not found", or found on this machine
                raise UserError(f"the guest's {name} needs {library}, which no package brought: report this as a bug")
            found.add(os.path.relpath(path, tree))
    return found


def _modules(out: BinaryIO, root: Path, tree: Path, version: str) -> None:
    """Some modules beside what the kernel has built in (NVMe, ext4, virtio are), and their list for modprobe."""
    cpio = _Cpio(out)
    base = f"usr/lib/modules/{version}"
    for name in ("lib", "usr/lib"):
        cpio.skip(name)
    if not (tree / "lib").exists():
        (tree / "lib").symlink_to("usr/lib")
    subprocess.run(loader(root, "usr/bin/kmod", "--argv0", "depmod") + ["-b", str(tree), version],
                   check=False, capture_output=True)  # fmt: skip
    for name in sorted(p.name for p in (tree / base).glob("modules.*")):
        cpio.copy(tree, f"{base}/{name}")
    needs = dict(line.split(":", 1) for line in (tree / base / "modules.dep").read_text().splitlines())
    paths = {Path(path).name.split(".")[0].replace("-", "_"): path for path in needs}
    for module in KERNEL_MODULES:
        for path in [paths[module], *needs[paths[module]].split()] if module in paths else []:  # else it is built in
            cpio.copy(tree, f"{base}/{path}")
    cpio.end()
