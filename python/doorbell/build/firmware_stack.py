# SPDX-License-Identifier: Apache-2.0
"""How deep the stack of the firmware can get: the most that any chain of calls takes, from the program as it is linked.

Every function is walked along all its branches with what is known of each register: a constant, an offset from the
stack pointer that it began with, a place inside a named object, a word of such an object, an argument. So frames,
shared prologues, code that was moved into routines of its own and calls at the end of functions all count as the
processor will see them. A call through a pointer goes to each function that it can name: those in the table that it
was read from, or what the callers pass. What cannot be followed is an error, and so are recursion and frames whose
size is not fixed: the result is never a guess.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from doorbell.build.riscv import EQUAL, UNEQUAL, WORD, Instruction, Program, decode, load, words

RA, SP, T0, A0 = 1, 2, 5, 10
CALLER_SAVED = (1, 5, 6, 7, *range(10, 18), *range(28, 32))
MASK = 0xFFFFFFFF

ROW = 16
"""No row of a table has more bytes: so far before a table may an address be to which at least a row is added."""


class Value(NamedTuple):
    """What is known of a register.

    `kind`: const n; link n, the return of shared code; sp plus n; arg n; near: an address from n to m, or further on in
    the objects that are there; from: a word read at such an address; either: the function n or m.
    """

    kind: str
    n: int
    m: int = 0


State = dict[int, Value]
"""By register, and by `slot` of a place on the stack."""


class StackError(ValueError):
    """Why there is no bound."""


class Call(NamedTuple):
    depth: int
    to: Value
    arguments: tuple[tuple[int, Value], ...]
    at: int


class Measured(NamedTuple):
    """Bytes of an image: `room` is what variables and code leave to the stack, `deepest` the most that it takes."""

    code: int
    variables: int
    room: int
    deepest: int
    chain: tuple[str, ...]


def measure(elf: Path) -> Measured:
    """How deep the stack of a linked firmware can get, and what there is for it."""
    program = load(elf)
    deepest, chain = Stack(program).depth(0)
    end, top = program.values["bss_end"], program.values["stack_top"]
    return Measured(len(program.data), end - len(program.data), top - end, deepest, chain)


@dataclass
class Walked:
    """What one function does to the stack by itself; its calls by where they are, and for whom if in shared code."""

    depth: int = 0
    calls: dict[tuple[int, Value | None], Call] = field(default_factory=dict)
    result: Value | None = None
    returns: int = 0


Bound = tuple[tuple[int, tuple[int, ...]], ...]
"""Arguments of a function that are functions: number, which."""


class Stack:
    """The depth of each function of a program, worked out as it is asked for."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.walked: dict[int, Walked] = {}
        self.deepest: dict[tuple[int, Bound], tuple[int, tuple[str, ...]]] = {}
        self.open: list[tuple[int, Bound]] = []
        self.walking: list[int] = []

    # ---- chains of calls

    def depth(self, function: int, bound: Bound = ()) -> tuple[int, tuple[str, ...]]:
        """The most bytes below the stack pointer that `function` begins with, and the calls that take them."""
        key = (function, bound)
        if key in self.deepest:
            return self.deepest[key]
        if key in self.open:
            chain = [self.program.name(f) for f, _ in [*self.open[self.open.index(key) :], key]]
            raise StackError(f"recursion: {' -> '.join(chain)}")
        self.open.append(key)
        walked = self.walk(function)
        most, chain = walked.depth, ()
        for call in walked.calls.values():
            for target in self.targets(call, dict(bound)):
                below, names = self.depth(target, self.binding(call, dict(bound)))
                if call.depth + below > most:
                    most, chain = call.depth + below, names
        self.open.pop()
        self.deepest[key] = most, (self.program.name(function), *chain)
        return self.deepest[key]

    def targets(self, call: Call, bound: dict[int, tuple[int, ...]]) -> tuple[int, ...]:
        found = self.functions_of(call.to, bound)
        if not found:
            raise StackError(f"{call.at:#x}: a call that cannot be followed ({call.to.kind} {call.to.n:#x})")
        return found

    def binding(self, call: Call, bound: dict[int, tuple[int, ...]]) -> Bound:
        named = ((number, self.functions_of(value, bound)) for number, value in call.arguments)
        return tuple((number, found) for number, found in named if found)

    def functions_of(self, value: Value, bound: dict[int, tuple[int, ...]]) -> tuple[int, ...]:
        """The functions that a value can be the address of."""
        if value.kind == "const":
            return (value.n,) if value.n in self.program.functions else ()
        if value.kind == "either":
            return value.n, value.m
        if value.kind == "arg":
            return bound.get(value.n, ())
        if value.kind == "from":
            places = [o for o in self.program.objects if o[0] < value.m + ROW and value.n < o[0] + o[1]]
            read = {w for start, size, _ in places for w in words(self.program, start, size)}
            return tuple(sorted(read & self.program.functions.keys()))
        return ()

    # ---- one function

    def walk(self, function: int) -> Walked:
        """Follow every branch of a function to its ends."""
        if function in self.walked:
            return self.walked[function]
        if function in self.walking:
            chain = [*self.walking[self.walking.index(function) :], function]
            raise StackError(f"recursion: {' -> '.join(map(self.program.name, chain))}")
        self.walking.append(function)
        walked = Walked()
        first: State = {SP: Value("sp", 0), **{A0 + i: Value("arg", i) for i in range(8)}}
        seen: dict[tuple[int, Value | None], State] = {}
        todo = [(function, first)]
        while todo:
            at, state = todo.pop()
            key = (at, link(state))
            if key in seen:
                merged = join(self.program, seen[key], state, at)
                if merged == seen[key]:
                    continue
                state = merged
            seen[key] = state
            walked.depth = max(walked.depth, -state[SP].n if state[SP].kind == "sp" else 0)
            todo += self.step(walked, at, decode(self.program.word(at), at), dict(state))
        self.walking.pop()
        self.walked[function] = walked
        return walked

    def step(self, walked: Walked, at: int, i: Instruction, state: State) -> list[tuple[int, State]]:
        """What comes after an instruction: addresses, and what is known there."""
        if i.kind == "branch":
            a, b = known(state, i.rs1), known(state, i.rs2)
            ways = [(at + 4, state), (at + i.immediate & MASK, dict(state))]
            if a and b and a.kind == b.kind == "const" and i.funct3 in (EQUAL, UNEQUAL):
                return [ways[(a.n == b.n) == (i.funct3 == EQUAL)]]
            return ways
        if i.kind in ("jal", "jalr"):
            return self.jump(walked, at, i, state)
        if i.kind == "store":
            base = state.get(i.rs1)
            if base and base.kind == "sp" and i.funct3 == WORD:
                put(state, slot(base.n + i.immediate), state.get(i.rs2))
            return [(at + 4, state)]
        put(state, i.rd, self.result(at, i, state))
        if i.rd == SP:
            self.moved(at, state)
        return [(at + 4, state)]

    def moved(self, at: int, state: State) -> None:
        """The stack pointer was written. The start code may set it to what it is, its top, and that in two steps."""
        new = state.get(SP)
        if new and new.kind == "const" and self.walking == [0]:
            if new.n == self.program.values.get("stack_top"):
                state[SP] = Value("sp", 0)
        elif not new or new.kind != "sp":
            raise StackError(f"{at:#x}: the size of the frame is not fixed")

    def result(self, at: int, i: Instruction, state: State) -> Value | None:
        """What an instruction that jumps nowhere leaves in rd."""
        a, b = known(state, i.rs1), known(state, i.rs2)
        if i.kind == "lui":
            return Value("const", i.immediate)
        if i.kind == "auipc":
            return Value("const", at + i.immediate & MASK)
        if i.kind == "addi":
            return plus(self.program, a, Value("const", i.immediate & MASK))
        if i.kind == "add":
            return plus(self.program, a, b)
        if i.kind == "and":  # of an address with a mask: it, or none
            return next((Value("near", *ends(x)) for x in (a, b) if table(self.program, x)), None)
        if i.kind == "load" and i.funct3 == WORD and a:
            if a.kind == "sp":
                return state.get(slot(a.n + i.immediate))
            if a.kind in ("const", "near"):
                return Value("from", *(end + i.immediate for end in ends(a)))
        return None

    def jump(self, walked: Walked, at: int, i: Instruction, state: State) -> list[tuple[int, State]]:
        """jal and jalr: calls, returns, and what is neither."""
        to: Value | None = Value("const", at + i.immediate & MASK)
        if i.kind == "jalr":
            base = known(state, i.rs1)
            to = Value("const", base.n + i.immediate & MASK) if base and base.kind in ("const", "link") else base
            if i.rd == 0 and i.rs1 == RA and to is None:  # a return
                if state[SP].n:
                    raise StackError(f"{at:#x}: returns with a stack that it did not find")
                note_result(self.program, walked, state.get(A0))
                return []
        if to is None:
            raise StackError(f"{at:#x}: a jump that cannot be followed")
        if i.rd == 0 and to.kind == "const":
            if i.kind == "jalr" and i.rs1 == T0:
                del state[T0]  # back from shared code
            return [(to.n, state)]
        if i.rd == T0 and to.kind == "const":
            state[T0] = Value("link", at + 4)
            return [(to.n, state)]
        if i.rd not in (0, RA):
            raise StackError(f"{at:#x}: a call that leaves its return in x{i.rd}")
        passed = tuple((n, state[A0 + n]) for n in range(8) if A0 + n in state)
        walked.calls[at, link(state)] = Call(-state[SP].n, to, passed, at)
        for register in CALLER_SAVED:
            state.pop(register, None)
        if i.rd == 0:  # in place of a return
            note_result(self.program, walked, None)
            return []
        if to.kind == "const":
            inside = self.walk(to.n)
            if inside.result:
                state[A0] = inside.result
            if not inside.returns:
                return []
        return [(at + 4, state)]


def link(state: State) -> Value | None:
    """Where shared code returns to: it is looked at for each of its users."""
    value = state.get(T0)
    return value if value and value.kind == "link" else None


def note_result(program: Program, walked: Walked, value: Value | None) -> None:
    """One more value that the function returns: only the address of an object is of use to its caller."""
    kept = value if value and value.kind in ("near", "const") else None
    walked.result = kept if walked.returns == 0 else merge(program, walked.result, kept)
    walked.returns += 1


def slot(offset: int) -> int:
    """The key of the word at so many bytes from where the stack pointer was at first."""
    return offset - (1 << 20)


def known(state: State, register: int) -> Value | None:
    return state.get(register) if register else Value("const", 0)


def put(state: State, register: int, value: Value | None) -> None:
    if register == 0:
        return
    if value is None:
        state.pop(register, None)
    else:
        state[register] = value


def plus(program: Program, a: Value | None, b: Value | None) -> Value | None:
    """The sum of what is known: an object and an unknown number is somewhere in the object."""
    if a and b and a.kind == b.kind == "const":
        return Value("const", a.n + b.n & MASK)
    for x, y in ((a, b), (b, a)):
        if x and x.kind == "sp":
            return Value("sp", x.n + (y.n + (1 << 31) & MASK) - (1 << 31)) if y and y.kind == "const" else None
        if x and x.kind == "near" and y and y.kind == "const":
            return Value("near", *(end + (y.n + (1 << 31) & MASK) - (1 << 31) for end in ends(x)))
        if x and table(program, x) and (y is None or y.kind == "from"):
            return Value("near", *ends(x))
        if x == Value("const", 0):
            return y
    return None


def merge(program: Program, a: Value | None, b: Value | None) -> Value | None:
    """What is known where two ways meet. No object and an object is the object: who reads from it has one."""
    if a == b:
        return a
    if a is None or b is None:
        return None
    for x, y in ((a, b), (b, a)):
        if x == Value("const", 0) and (y.kind == "from" or table(program, y)):
            return y
    if {a.kind, b.kind} <= {"const", "either"}:
        of = {v.n for v in (a, b)} | {v.m for v in (a, b) if v.kind == "either"}
        if len(of) == 2 and of <= program.functions.keys():
            return Value("either", min(of), max(of))
    if a.kind != b.kind and {a.kind, b.kind} != {"const", "near"}:
        return None
    if a.kind not in ("const", "near", "from") or not loaded(program, a) or not loaded(program, b):
        return None
    low = a.n if same(program, a.n, b.n) else min(a.n, b.n)
    high = ends(a)[1] if same(program, ends(a)[1], ends(b)[1]) else max(ends(a)[1], ends(b)[1])
    return Value("from" if a.kind == "from" else "near", low, high)


def ends(value: Value) -> tuple[int, int]:
    """The first and the last address that it can be, before anything is added."""
    return value.n, value.n if value.kind == "const" else value.m


def table(program: Program, value: Value | None) -> bool:
    """It can be an address in a table."""
    return value is not None and value.kind in ("const", "near") and loaded(program, value)


def loaded(program: Program, value: Value) -> bool:
    """It is among the tables of the image, or just before or behind them: all others are numbers."""
    low = min(start for start, _, _ in program.objects) - ROW
    return all(low <= end <= len(program.data) + ROW for end in ends(value))


def same(program: Program, a: int, b: int) -> bool:
    """In one object: further steps through it are nothing new."""
    place = program.object_at(a)
    return place is not None and place == program.object_at(b)


def join(program: Program, a: State, b: State, at: int) -> State:
    if a[SP] != b[SP]:
        raise StackError(f"{at:#x}: two ways meet with different stacks")
    merged = {key: merge(program, a[key], b[key]) for key in a.keys() & b.keys()}
    return {key: value for key, value in merged.items() if value is not None}
