# SPDX-License-Identifier: Apache-2.0
"""The main plot as a drawing of its own (SVG)."""

from __future__ import annotations

import html
from collections.abc import Sequence

from doorbell.report.figures import Figures
from doorbell.report.plots import COLOURS, LIMIT, NAMES, OPEN_EXPRESS, WIDE, by_rw, size
from doorbell.sweep.point import Row

STROKES = ('stroke-width="2"', 'stroke-width="7" opacity="0.4"')


def bandwidth_svg(f: Figures) -> str:
    """The main plot as a small picture that any viewer shows."""
    from math import log2

    left, right, top, bottom, width, height = 58, 32, 64, 62, 760, 420
    groups = by_rw(f.blocks)
    sizes = [int(r["bs"]) for r in next(iter(groups.values()))]
    values = [r[k] / 1e3 for r in f.blocks for k in ("mb_s", "limit_mb_s")]
    peak = max(2, int(max([*values, 7.0])) + 1)

    def x(bs: float) -> float:
        return left + (width - left - right) * (log2(bs / sizes[0]) / max(1e-9, log2(sizes[-1] / sizes[0])))

    def y(gb: float) -> float:
        return height - bottom - (height - top - bottom) * gb / peak

    def text(px: float, py: float, words: str, anchor: str = "middle", more: str = "") -> str:
        return f'<text x="{px:.1f}" y="{py:.1f}" text-anchor="{anchor}" {more}>{html.escape(words)}</text>'

    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        'font-family="system-ui, sans-serif" font-size="12" fill="#222"><title>Bandwidth over block size</title>'
        f'<rect width="{width}" height="{height}" fill="#fff"/>'
    ]  # fmt: skip
    for gb in range(peak + 1):
        out.append(f'<path d="M{left} {y(gb):.1f}H{width - right}" stroke="#e6e6e6"/>')
        out.append(text(left - 8, y(gb) + 4, str(gb), "end"))
    for bs in sizes:
        out.append(text(x(bs), height - bottom + 18, size(bs)))
    out.append(text((left + width - right) / 2, height - 14, "block size; Gen3 x8, 10 jobs with 8 commands each"))
    turned = f'transform="translate(18 {(top + height - bottom) / 2}) rotate(-90)"'
    out.append(text(0, 0, "bandwidth, GB/s", more=turned))

    def draw(rows: Sequence[Row], key: str, colour: str, style: str, dots: bool) -> None:
        way = " ".join(f"{x(r['bs']):.1f},{y(r[key] / 1e3):.1f}" for r in rows)
        out.append(f'<polyline points="{way}" fill="none" stroke="{colour}" {style}/>')
        for r in rows if dots else []:
            out.append(f'<circle cx="{x(r["bs"]):.1f}" cy="{y(r[key] / 1e3):.1f}" r="3" fill="{colour}"/>')

    draw(groups["randread"], "limit_mb_s", LIMIT, 'stroke-width="1.5" stroke-dasharray="7 4"', False)
    draw(groups["randwrite"], "limit_mb_s", LIMIT, 'stroke-width="1.5" stroke-dasharray="2 3"', False)
    for rw, rows in groups.items():
        draw(rows, "mb_s", COLOURS[rw], STROKES[rw in WIDE], rw not in WIDE)
    for bs, sides in OPEN_EXPRESS.items():
        for side, (gb, _) in sides.items():
            if sizes[0] <= bs <= sizes[-1]:
                out.append(diamond(x(bs), y(gb), COLOURS[side]))
    legend = [(NAMES[rw], f'stroke="{COLOURS[rw]}" {STROKES[rw in WIDE]}', "") for rw in groups]
    legend += [("link's limit, read", f'stroke="{LIMIT}" stroke-dasharray="7 4"', ""),
               ("link's limit, write", f'stroke="{LIMIT}" stroke-dasharray="2 3"', ""),
               ("OpenExpress read", "", COLOURS["read"]), ("OpenExpress write", "", COLOURS["write"])]  # fmt: skip
    for i, (words, stroke, mark) in enumerate(legend):
        px, py = left + (i % 4) * 172, 20 + (i // 4) * 20
        out.append(diamond(px + 12, py, mark) if mark else f'<path d="M{px} {py}h24" {stroke}/>')
        out.append(text(px + 30, py + 4, words, "start"))
    return "\n".join([*out, "</svg>\n"])


def diamond(px: float, py: float, colour: str) -> str:
    return f'<path d="M{px:.1f} {py - 7:.1f}l7 7l-7 7l-7 -7z" fill="{colour}" stroke="#000"/>'
