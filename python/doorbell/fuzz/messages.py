# SPDX-License-Identifier: Apache-2.0
"""Fuzz target: a client of the vfio-user server, which has the functional drive behind it. Run by `running`, as a
program.

An input is a list of messages: command, flags, how many file descriptors of which kind, and a body that a byte
chooses: as it is, or laid out as this command has it, with small numbers in its fields. The server must answer every
command that wants an answer, go on after whatever comes, serve the next client, and leave no file descriptor behind.
"""

from __future__ import annotations

import contextlib
import os
import socket
import struct
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["doorbell.device", "doorbell.vm.devices"]):
    from doorbell.device.functional import FunctionalSsd
    from doorbell.device.pci_config import PciConfig
    from doorbell.device.vfio_user import Server, wire
    from doorbell.vm.devices import FunctionalDevice

MEDIA = 1 << 20
STEPS = 40  # of the server's loop after each message, at most
LAYOUT = {
    wire.VERSION: "<HH", wire.DMA_MAP: "<IIQQQ", wire.DMA_UNMAP: "<IIQQ", wire.GET_INFO: "<IIII",
    wire.GET_REGION_INFO: "<IIIIQQ", wire.GET_IRQ_INFO: "<IIII", wire.SET_IRQS: "<IIIII",
    wire.REGION_READ: "<QII", wire.REGION_WRITE: "<QII", wire.REGION_WRITE_MULTI: "<Q",
}  # fmt: skip
NUMBERS = (
    0, 1, 2, 3, 4, 7, 8, 16, 20, 24, 32, 33, 0x14, 0x1C, 0x24, 0x28, 0x30, 0x40, 0xFFF, 0x1000, 0x1004, 0x2000, 0x3000,
    0x10000, 0x100000, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0xFFFFFFFFFFFFF000, 0xFFFFFFFFFFFFFFFF, 0x460001, 0x1F001F,
)  # fmt: skip


def body_of(take: atheris.FuzzedDataProvider, command: int) -> bytes:
    how = take.ConsumeIntInRange(0, 3)
    layout = LAYOUT.get(command)
    if how == 0 or layout is None:
        return bytes(take.ConsumeBytes(take.ConsumeIntInRange(0, 64)))
    sizes = {"H": 2, "I": 4, "Q": 8}
    fields = [NUMBERS[take.ConsumeIntInRange(0, len(NUMBERS) - 1)] & ((1 << 8 * sizes[f]) - 1) for f in layout[1:]]
    if how == 2 and command not in (wire.VERSION, wire.REGION_READ, wire.REGION_WRITE, wire.REGION_WRITE_MULTI):
        fields[0] = 32  # argsz
    if command in (wire.REGION_READ, wire.REGION_WRITE) and how > 1:
        fields[1:] = [take.PickValueInList([wire.BAR0_REGION, wire.CONFIG_REGION, wire.BAR4_REGION]),
                      take.PickValueInList([1, 2, 4, 8, 64])]  # fmt: skip
    body = struct.pack(layout, *fields)
    more = fields[2] if command == wire.REGION_WRITE and fields[2] <= 64 else take.ConsumeIntInRange(0, 32)
    return body + bytes(take.ConsumeBytes(more))


class Client:
    """Its end of a connection, and what it has to hand over."""

    def __init__(self, path: str) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.connect(path)
        self.sock.setblocking(False)
        self.answers = 0

    def send(self, raw: bytes, fds: list[int]) -> None:
        rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, struct.pack(f"{len(fds)}i", *fds))] if fds else []
        with contextlib.suppress(OSError):
            self.sock.sendmsg([raw], rights, socket.MSG_NOSIGNAL)

    def take(self) -> bytes | None:
        """What has come; None: nothing yet. No bytes: the server has ended the connection."""
        try:
            data, ancillary, *_ = self.sock.recvmsg(1 << 20, 256)
        except BlockingIOError:
            return None
        except OSError:
            return b""
        for _, _, payload in ancillary:
            for fd in struct.unpack(f"{len(payload) // 4}i", payload):
                os.close(fd)
        return data


@contextlib.contextmanager
def served() -> Iterator[tuple[Server, str]]:
    """A server of a new drive."""
    with tempfile.TemporaryDirectory(prefix="doorbell-fuzz-") as folder:
        path = str(Path(folder) / "s")
        device = FunctionalDevice(FunctionalSsd(media_size=MEDIA, num_qp=4, jitter_ns=0))
        server = Server(path, device, PciConfig(device.vectors, gen=4, lanes=8))
        try:
            yield server, path
        finally:
            server.close()
            device.close()


def step(server: Server) -> None:
    """What the server's loop does between two looks, without its sleeps."""
    server.take()
    server._device.run(200)
    server.after_run()
    server._settle_until = 0.0


def answered(server: Server, client: Client, number: int) -> bool:
    """The answer to this message comes, or the connection ends."""
    seen = b""
    for _ in range(STEPS):
        step(server)
        while (data := client.take()) is not None:
            if not data:
                return True
            seen += data
        while len(seen) >= wire.HEADER.size:
            found, _, size, flags, _ = wire.HEADER.unpack_from(seen)
            if len(seen) < size:
                break
            if flags & wire.TYPE_MASK == wire.TYPE_REPLY and found == number:
                return True
            seen = seen[size:]
    return False


def open_fds() -> int:
    return len(os.listdir("/proc/self/fd"))


def one(data: bytes) -> None:
    take = atheris.FuzzedDataProvider(data)
    before = open_fds()
    with served() as (server, path):
        client = Client(path)
        if take.ConsumeBool():
            client.send(wire.HEADER.pack(9, wire.VERSION, wire.HEADER.size + 4, 0, 0) + struct.pack("<HH", 0, 1), [])
            assert answered(server, client, 9), "VERSION is not answered"
        eventfd, memory = os.eventfd(0, os.EFD_NONBLOCK), os.memfd_create("m", os.MFD_ALLOW_SEALING)
        os.ftruncate(memory, 0x4000)
        try:
            number = 100
            while take.remaining_bytes() > 4 and number < 120:
                number += 1
                command, flags = take.ConsumeIntInRange(0, 16), take.PickValueInList([0, 0, 0, 0, 1, 0x10, 0x20, 3])
                fds = [eventfd, memory][take.ConsumeIntInRange(0, 1) :][: take.ConsumeIntInRange(0, 2)]
                body = body_of(take, command)
                size = wire.HEADER.size + len(body)
                odd = take.ConsumeIntInRange(0, 40)
                said = size if odd else take.ConsumeIntInRange(0, 1 << 21)
                client.send(wire.HEADER.pack(number, command, said, flags, 0) + body, fds)
                if said != size:  # what follows is no message any more
                    step(server)
                    break
                if flags & wire.TYPE_MASK != wire.TYPE_REPLY and not flags & wire.NO_REPLY:
                    assert answered(server, client, number), f"command {command} is not answered"
                else:
                    step(server)
        finally:
            client.sock.close()
            os.close(eventfd)
            os.close(memory)
        for _ in range(3):
            step(server)
        following = Client(path)
        following.send(wire.HEADER.pack(1, wire.VERSION, wire.HEADER.size + 4, 0, 0) + struct.pack("<HH", 0, 1), [])
        assert answered(server, following, 1), "the next client is not served"
        following.sock.close()
    assert open_fds() <= before, "file descriptors are left behind"


if __name__ == "__main__":
    atheris.Setup(sys.argv, one)
    atheris.Fuzz()
