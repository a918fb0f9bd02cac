# SPDX-License-Identifier: Apache-2.0
"""Steps of namespaces and keys: format, create, delete, attach, detach, load and erase keys, bind."""

from __future__ import annotations

from doorbell.compute import drive as compute
from doorbell.compute.operators import Op
from doorbell.nvme import namespaces
from doorbell.nvme.commands import Command
from doorbell.nvme.constants import AdminOpc, NsAttach, NvmOpc, Status
from doorbell.nvme.structures import status_name
from doorbell.nvme.vendor import VendorOpc
from doorbell.soak.grants import GrantingDriver
from doorbell.soak.judge import Failure, Judge
from doorbell.soak.machine import Machine
from doorbell.soak.model import Blocks, Space
from doorbell.soak.near_crypt import CTR_KEY, ctr_key_bytes, key_bytes
from doorbell.soak.steps import Step


class Admin:
    """A part of Player. Commands of the namespace in question have ended before it changes; those of others go on."""

    machine: Machine
    judge: Judge

    @property
    def drive(self) -> GrantingDriver:
        return self.machine.drive

    def settle(self, nsid: int | None = None) -> None:
        raise NotImplementedError

    def meet(self, nsid: int) -> None:
        """All commands of a namespace are with the drive, and meet what is done to it now."""
        self.drive.ring()
        self.judge.namespace_changes(nsid)

    def keys_change(self, slot: int) -> None:
        raise NotImplementedError

    def mend_media(self) -> None:
        raise NotImplementedError

    def look_at_cut(self) -> None:
        raise NotImplementedError

    def _expect(self, command: Command, what: str, *statuses: int) -> bool:
        """Whether it succeeded; a Failure if it may not end so."""
        if command.status not in (statuses or (Status.SUCCESS,)):
            names = ", ".join(Status(s).name for s in statuses or (Status.SUCCESS,))
            raise Failure("status", f"{what} ended with {status_name(command.status15)}, not {names}")
        return command.status == Status.SUCCESS

    def _key_goes(self, space: Space) -> None:
        """With the data of a namespace goes the key of its slot."""
        if space.slot is not None:
            self.keys_change(space.slot)
            self.machine.model.keys.pop(space.slot, None)

    def look_at_spaces(self) -> None:
        """After a reset: the namespaces are those that were there before."""
        model, drive = self.machine.model, self.drive
        self.look_at_cut()
        manages = namespaces.supported(drive)
        if manages or model.fn:
            there, active = self.machine.allocated() if manages else sorted(model.spaces), self.machine.active()
            if there != sorted(model.spaces) or active != sorted(n for n, s in model.spaces.items() if model.has(s)):
                raise Failure("namespaces", f"{there} exist, {active} are attached: not those of before the reset")
        for nsid, space in model.spaces.items():
            if not model.has(space) and not manages:
                continue
            if (found := self.machine.size_of(nsid)) != (space.blocks.blocks, space.blocks.block_size):
                raise Failure("namespaces", f"namespace {nsid} has {found[0]} blocks of {found[1]} bytes after a reset")

    # ---- namespaces

    def do_format(self, step: Step) -> None:
        nsid, erase = step["ns"], step["erase"] % 3
        space, size, busy = self.machine.model.spaces.get(nsid), step["size"], bool(step["busy"])
        if not self.machine.model.has(space) or size not in namespaces.FORMATS:
            return
        if busy:  # buffers are made for the blocks that there are
            size = space.blocks.block_size
            self.meet(nsid)
        else:
            self.settle(nsid)
        self.mend_media()
        wiped = space.blocks.begin(NvmOpc.WRITE_ZEROES, 0, space.blocks.blocks)
        may = self.machine.model.formats(space, bool(erase))
        if erase and may:
            self._key_goes(space)
        dw10 = namespaces.FORMATS[size] | erase << 9
        wanted = Status.SUCCESS if may else Status.OPERATION_DENIED
        formatted = self._expect(self.drive.admin_try(AdminOpc.FORMAT_NVM, nsid=nsid, cdw10=dw10), "Format", wanted)
        space.blocks.end(wiped, wanted)
        if not formatted or wanted != Status.SUCCESS:
            return
        was = space.blocks.blocks * space.blocks.block_size
        blocks, found = self.machine.size_of(nsid)
        if found != size or not was - 4096 < blocks * size <= was + 4096:
            raise Failure(
                "namespaces", f"namespace {nsid} has {blocks} blocks of {found} bytes after a format to {size}"
            )
        if not busy:
            space.blocks = Blocks(blocks, size)
        self.machine.model.rekey()

    def do_ns_create(self, step: Step) -> None:
        model, drive = self.machine.model, self.drive
        if not namespaces.supported(drive) or step["size"] not in namespaces.FORMATS:
            return
        self.mend_media()
        blocks, full = max(1, step["blocks"]), len(model.spaces) >= self.machine.shape.spaces
        refused: tuple[int, ...] = (Status.NS_INSUFFICIENT_CAP, Status.NSID_UNAVAILABLE)
        shared = bool(step["shared"]) and self.machine.functions > 1
        command, blocks = self.machine.create_try(blocks, step["size"], shared, step["on"])
        if not self._expect(command, "Create Namespace", *refused, *(() if full else (Status.SUCCESS,))):
            return
        if command.dw0 in model.spaces or not 1 <= command.dw0 <= self.machine.shape.spaces:
            raise Failure("namespaces", f"a namespace was created as {command.dw0}")
        space = Space(command.dw0, Blocks(blocks, step["size"]), fns=set(), shared=shared, granular=bool(step["on"]))
        model.spaces[space.nsid] = self.machine.placed(space)

    def do_ns_delete(self, step: Step) -> None:
        nsid = step["ns"]
        if not namespaces.supported(self.drive):
            return
        (self.meet if step["busy"] else self.settle)(nsid)
        self.mend_media()
        space = self.machine.model.spaces.get(nsid)
        if space is not None:
            self._key_goes(space)
        gone = namespaces.delete_try(self.drive, nsid)
        if self._expect(gone, "Delete Namespace", Status.SUCCESS if space else Status.INVALID_FIELD):
            self.settle(nsid)  # another one may come by this name
            del self.machine.model.spaces[nsid]
            self.machine.model.rekey()

    def do_attach(self, step: Step) -> None:
        self._attachment(step["ns"], step["to"], True, False)

    def do_detach(self, step: Step) -> None:
        self._attachment(step["ns"], step["to"], False, bool(step["busy"]))

    def _attachment(self, nsid: int, to: int, on: bool, busy: bool) -> None:
        if not namespaces.supported(self.drive) or not 0 <= to < self.machine.functions:
            return
        (self.meet if busy else self.settle)(nsid)
        space = self.machine.model.spaces.get(nsid)
        want = Status.INVALID_FIELD
        if space is not None:
            already = Status.NS_ALREADY_ATTACHED if on else Status.NS_NOT_ATTACHED
            want = already if (to in space.fns) == on else Status.SUCCESS
            if on and not space.shared and space.fns - {to}:
                want = Status.NS_IS_PRIVATE
        select = NsAttach.ATTACH if on else NsAttach.DETACH
        if self._expect(namespaces.attachment_try(self.drive, nsid, select, (to,)), "Namespace Attachment", want):
            assert space is not None
            (space.fns.add if on else space.fns.discard)(to)
            self.machine.model.attached(space)

    # ---- keys

    def do_key(self, step: Step) -> None:
        if not self.machine.shape.keys:
            return
        number, key, model = max(1, step["slot"]) % 16 or 1, step["key"], self.machine.model
        slot = model.slot_of(number)
        if slot is not None:
            self.keys_change(slot)
        want = Status.INVALID_FIELD if slot is None else Status.SUCCESS
        if key > 0 and step["mode"] == "ctr":
            key |= CTR_KEY
            key1, iv = ctr_key_bytes(key)
            command = compute.load_key_try(self.drive, number, key1, iv=iv)
        elif key > 0:
            command = compute.load_key_try(self.drive, number, *key_bytes(key))
        else:
            command = self.drive.admin_try(VendorOpc.KEY_ERASE, cdw10=number)
        if self._expect(command, "Key Load or Erase", want) and slot is not None:
            model.keys[slot] = max(0, key)
            model.rekey()

    def do_bind(self, step: Step) -> None:
        model = self.machine.model
        space = model.spaces.get(step["ns"])
        if not self.machine.shape.keys or space is None:
            return
        self.settle(space.nsid)
        number = step["slot"] % 16
        slot = model.slot_of(number) if number else None
        want = Status.SUCCESS
        if model.fn and not model.has(space):
            want = Status.INVALID_FIELD
        elif model.fn and space.shared:
            want = Status.OPERATION_DENIED
        elif number and (slot is None or not model.serves(slot, space)):
            want = Status.INVALID_FIELD
        op = Op.AES_XTS if number else Op.PASS
        command = self.drive.admin_try(VendorOpc.BIND, nsid=space.nsid, cdw10=op | number << 8)
        if self._expect(command, "Bind", want) and want == Status.SUCCESS:
            space.slot = slot
            model.rekey()
