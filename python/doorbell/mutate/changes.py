# SPDX-License-Identifier: Apache-2.0
"""Small changes of a module, each at an exact place of its text: found in slang's syntax tree."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from doorbell import paths

SWAPPED = {
    "AddExpression": ("+", "-"),
    "SubtractExpression": ("-", "+"),
    "BinaryAndExpression": ("&", "|"),
    "BinaryOrExpression": ("|", "&"),
    "BinaryXorExpression": ("^", "|"),
    "LogicalAndExpression": ("&&", "||"),
    "LogicalOrExpression": ("||", "&&"),
    "EqualityExpression": ("==", "!="),
    "InequalityExpression": ("!=", "=="),
    "LessThanExpression": ("<", "<="),
    "LessThanEqualExpression": ("<=", "<"),
    "GreaterThanExpression": (">", ">="),
    "GreaterThanEqualExpression": (">=", ">"),
    "LogicalShiftLeftExpression": ("<<", ">>"),
    "LogicalShiftRightExpression": (">>", "<<"),
}
DROPPED = ("UnaryBitwiseNotExpression", "UnaryLogicalNotExpression")
CONSTANT = ("IntegerLiteralExpression", "IntegerVectorExpression", "UnbasedUnsizedLiteralExpression")
LEFT_OUT = (
    "ParameterDeclaration",
    "ParameterDeclarationStatement",
    "ParameterPortList",
    "ModuleHeader",
    "VariableDimension",
    "ConcurrentAssertionMember",
    "AssertPropertyStatement",
    "AssumePropertyStatement",
    "CoverPropertyStatement",
    "ImmediateAssertStatement",
    "ImmediateAssumeStatement",
    "ElabSystemTask",
    "TypedefDeclaration",
    "InitialBlock",
    "RangeDimensionSpecifier",
    "SimpleRangeSelect",
    "IfGenerate",
    "LoopGenerate",
    "ParameterValueAssignment",
    "IntegerType",
    "DelayControl",
    "CastExpression",
    "ReplicatedAssignmentPattern",
)
"""What is of the elaboration, or a check itself."""
BODIES = ("GenerateBlock",)
"""... but what is in these is logic again."""
FIXED = ("FunctionDeclaration",)
"""Logic whose value a tool may need before anything runs."""
FIXED_PARTS = {
    "MultipleConcatenationExpression": "expression",
    "AscendingRangeSelect": "right",
    "DescendingRangeSelect": "right",
    "AssignmentExpression": "left",
    "NonblockingAssignmentExpression": "left",
}
"""... and of these one part."""
LOOP, BODY = "ForLoopStatement", "statement"
"""... and of a loop all but its body."""


@dataclass(frozen=True)
class Mutant:
    """In `file` (relative to the repository), at `offset`, `new` instead of `old`.

    start, size: bytes of the expression that becomes another one, where that may be chosen as the RTL runs; else 0.
    """

    file: str
    line: int
    offset: int
    old: str
    new: str
    kind: str
    start: int = 0
    size: int = 0

    @property
    def name(self) -> str:
        return f"{self.file}:{self.line}: {self.old} becomes {self.new} ({self.kind}, byte {self.offset})"

    def apply(self, text: str) -> str:
        raw = text.encode()
        old = self.old.encode()
        assert raw[self.offset : self.offset + len(old)] == old, f"{self.name}: the file is another one"
        return (raw[: self.offset] + self.new.encode() + raw[self.offset + len(old) :]).decode()


def mutants_of(file: Path) -> list[Mutant]:
    """All mutants of a file, in the order of its text."""
    from pyslang import syntax

    raw = file.read_bytes()
    tree = syntax.SyntaxTree.fromFile(str(file))
    found: dict[tuple[int, int, str, str], tuple[int, int]] = {}

    def text(start: int, end: int) -> str:
        return raw[start:end].decode()

    checks = [m.span() for m in re.finditer(rb"`ifndef SYNTHESIS.*?`endif", raw, re.DOTALL)]

    def add(start: int, old: str, new: str, kind: str, around: tuple[int, int]) -> None:
        if any(a <= start < b for a, b in checks):
            return
        if raw[start : start + len(old.encode())] == old.encode():  # else it comes out of a macro
            found[start, len(old), new, kind] = around

    def look(node: Any, logic: bool, fixed: bool) -> None:
        kind = node.kind.name
        if kind in LEFT_OUT:
            logic = False
        elif kind in BODIES:
            logic = True
        fixed = fixed or kind in FIXED
        if logic:
            _changes(node, kind, text, lambda *change, around: add(*change, around=(0, 0) if fixed else around))
        part = _span(getattr(node, FIXED_PARTS[kind])) if kind in FIXED_PARTS else None
        body = _span(getattr(node, BODY)) if kind == LOOP else None
        for child in node:
            if child is not None and hasattr(child, "kind") and hasattr(child, "sourceRange"):
                look(child, logic, fixed or _span(child) == part or body not in (None, _span(child)))

    look(tree.root, True, False)
    name = str(file.relative_to(paths.ROOT))
    return [
        Mutant(name, raw[:start].count(b"\n") + 1, start, text(start, start + size), new, kind, *around)
        for (start, size, new, kind), around in sorted(found.items())
    ]


def _span(node: Any) -> tuple[int, int]:
    """First byte and number of bytes."""
    span = node.sourceRange
    return span.start.offset, span.end.offset - span.start.offset


def _changes(node: Any, kind: str, text: Any, add: Any) -> None:
    if kind in SWAPPED:
        old, new = SWAPPED[kind]
        add(node.operatorToken.location.offset, old, new, "operator", around=_span(node))
    elif kind in DROPPED:
        token = node.operatorToken
        add(token.location.offset, token.rawText, "", "negation", around=_span(node))
    elif kind in CONSTANT:
        span = node.sourceRange
        old = text(span.start.offset, span.end.offset)
        if new := _other_constant(old):
            add(span.start.offset, old, new, "constant", around=_span(node))
    elif kind == "ConditionalStatement":
        span = node.predicate.sourceRange
        old = text(span.start.offset, span.end.offset)
        if old and "\n" not in old and old != "rst":
            add(span.start.offset, old, "1'b1", "enable", around=_span(node.predicate))
            add(span.start.offset, old, "1'b0", "enable", around=_span(node.predicate))
    elif kind == "ConditionalExpression":
        left, right = node.left.sourceRange, node.right.sourceRange
        a, b = text(left.start.offset, left.end.offset), text(right.start.offset, right.end.offset)
        whole = text(left.start.offset, right.end.offset)
        if a != b and "\n" not in whole:
            add(left.start.offset, whole, f"{b} : {a}", "choice", around=_span(node))


def _other_constant(old: str) -> str:
    if old in ("'0", "'1"):
        return "'1" if old == "'0" else "'0"
    head, quote, digits = old.rpartition("'")
    base = digits[:1].lower() if quote else "d"
    value = digits[1:] if quote else digits
    if base not in "bdh":
        return ""
    try:
        number = int(value.replace("_", ""), {"b": 2, "d": 10, "h": 16}[base])
    except ValueError:  # x, z
        return ""
    if not quote:
        return str(number + 1)
    width = int(head) if head.isdigit() else 32
    other = number ^ 1 if width == 1 else (number + 1) % (1 << width)
    return f"{head}'{digits[0]}{other:{ {'b': 'b', 'd': 'd', 'h': 'x'}[base] }}"
