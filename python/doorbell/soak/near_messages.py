# SPDX-License-Identifier: Apache-2.0
"""Messages of SHA-256 that near-storage commands bring: what each may say, by docs/csd/near-storage.md.

Nobody knows the order of commands of one message that are under way together, nor what one has brought that failed.
Then nothing is known of the message until a command begins it anew alone. How much is taken depends on time: a result
says it, and what it may say depends on the command.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import Any

from doorbell.compute.near import BLOCK_BYTES, MESSAGES, Crypt, Hash, Hashed, HashStep, Program
from doorbell.nvme.model import Mismatch
from doorbell.nvme.vendor import NearDigest

RESULT_BYTES = 64


def brings(program: Program | None) -> bool:
    """Its commands bring a message, decrypted perhaps."""
    inner = program.behind if isinstance(program, Crypt) else program
    return isinstance(inner, Hash) and inner.digest == NearDigest.SHA256


@dataclass
class State:
    """What is known of a message: how much was taken, if it has ended; begun: None, nobody can say; sha256: of what
    was taken, if that is known."""

    taken: int = 0
    ended: bool = False
    begun: bool | None = False
    sha256: Any = field(default_factory=hashlib.sha256)


@dataclass(eq=False)
class Part:
    """What one command is to its message."""

    phase: int
    length: int
    messages: list[Message] = field(default_factory=list)  # more than one: its program was loaded anew meanwhile
    alone: bool = True
    known: bool = False  # its end left its message with a known state

    @property
    def number(self) -> int:
        return self.phase >> 4 & MESSAGES - 1

    def begin(self, message: Message) -> None:
        self.alone = self.alone and not message.inside and not self.messages
        for other in message.inside:
            other.alone = False
        message.inside.append(self)
        self.messages.append(message)

    def end(self) -> None:
        """It is over, whatever became of it."""
        for message in self.messages:
            message.inside.remove(self)
            if not self.known:
                message.state = None
        self.messages.clear()

    def result(self, got: bytes, data: bytes | None) -> bool:
        """The command has succeeded. data: that it brought, if that is known. Returns if a digest was looked at."""
        found = Hashed.of(got)
        if got[16:32] != bytes(16) or len(got) < RESULT_BYTES or (found.digest is not None and not found.ended):
            raise Mismatch(f"the result of a message is {got[:RESULT_BYTES].hex()}")
        before = self.messages[0].state if len(self.messages) == 1 and self.alone else None
        asks = bool(self.phase & HashStep.ASK)
        if not asks and self.phase & HashStep.BEGIN and len(self.messages) == 1 and self.alone:
            before = State(begun=True)
        if before is None:
            return False
        after = before if asks else self._brought(before, found, data)
        if after is None:
            return False
        if (found.taken, found.ended) != (after.taken, after.ended):
            raise Mismatch(f"a message of {after.taken} bytes, ended: {after.ended}, says {found.taken}, {found.ended}")
        if found.digest is not None and after.sha256 is not None and found.digest != after.sha256.digest():
            raise Mismatch(f"the digest of {after.taken} bytes is {found.digest.hex()}")
        self.messages[0].state = after
        self.known = True
        return found.digest is not None and after.sha256 is not None

    def _brought(self, before: State, found: Hashed, data: bytes | None) -> State | None:
        """The state behind it. None: the specification does not say, as it ends a message without data."""
        first = BLOCK_BYTES * (self.phase >> 6)
        offered, taken = max(0, self.length - first), found.taken - before.taken
        ends = bool(self.phase & HashStep.END)
        if ends and not offered:
            return None
        if not 0 <= taken <= offered or (taken and (before.begun is False or before.ended)):
            state = f"{before.taken} bytes, begun: {before.begun}, ended: {before.ended}"
            raise Mismatch(f"of {offered} bytes {taken} were taken for a message that has {state}")
        all_taken = taken == offered
        if taken % BLOCK_BYTES and not (ends and all_taken):
            raise Mismatch(f"{taken} of {offered} bytes were taken: no whole blocks")
        sha256 = before.sha256 if data is not None or not taken else None
        if taken and sha256 is not None and data is not None:
            sha256 = sha256.copy()
            sha256.update(data[first : first + taken])
        begun = True if taken else None if self.phase & HashStep.BEGIN else before.begun
        return State(found.taken, before.ended or bool(ends and taken and all_taken), begun, sha256)


@dataclass(eq=False)
class Message:
    """One of a program's. state: None, nobody knows it. inside: commands of it that are under way."""

    state: State | None = field(default_factory=State)
    inside: list[Part] = field(default_factory=list)


def fresh() -> list[Message]:
    """Those of a program that was loaded just now."""
    return [Message() for _ in range(MESSAGES)]
