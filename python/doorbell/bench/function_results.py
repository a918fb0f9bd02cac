# SPDX-License-Identifier: Apache-2.0
"""What functions of a drive reached side by side: each beside its fair share, and all together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from doorbell.bench.jobs import describe
from doorbell.bench.results import PERCENTILES, Result, empty_table, link_use, percentile
from doorbell.device import limits

EQUAL: Mapping[int, int] = {}


def of_fair(
    results: Sequence[Result], link: limits.Link, weights: Mapping[int, int] = EQUAL
) -> dict[int | None, float]:
    """By function: what it uses of the link, beside its part by weight among the functions that work (1: just that).

    weights: of those that have another than 1.
    """
    used: dict[int | None, float] = {}
    for r in results:
        used[r.function] = used.get(r.function, 0.0) + link_use(link, [r])
    total = sum(used.values())
    weight = {fn: 1 if fn is None else weights.get(fn, 1) for fn in used}
    return {fn: use * sum(weight.values()) / weight[fn] / total if total else 0.0 for fn, use in used.items()}


def _percentiles_us(values: np.ndarray) -> list[float]:
    return [percentile(values, p) / 1e3 for p in PERCENTILES]


def function_table(
    all_groups: Sequence[Sequence[Result]], link: limits.Link, title: str, weights: Mapping[int, int] = EQUAL
) -> Any:
    """Results as a rich table, a row for each job of each function. weights: as of of_fair."""
    out = empty_table(title, "function", "% of fair", "% of link")
    for results in all_groups:
        fair = of_fair(results, link, weights)
        for i, r in enumerate(results):
            v = r.latencies()
            out.add_row(
                f"{r.function}", describe(r.job), f"{r.bytes_per_s / 1e6:,.0f}", f"{r.iops / 1e3:,.1f}",
                f"{v.mean() / 1e3:.2f}", *(f"{us:.2f}" for us in _percentiles_us(v)), f"{100 * fair[r.function]:.1f}",
                f"{100 * link_use(link, [r]):.1f}", end_section=i == len(results) - 1,
            )  # fmt: skip
        every = np.sort(np.concatenate([r.latencies() for r in results]))
        out.add_row(
            "all", "together", f"{sum(r.bytes_per_s for r in results) / 1e6:,.0f}",
            f"{sum(r.iops for r in results) / 1e3:,.1f}", f"{every.mean() / 1e3:.2f}",
            *(f"{us:.2f}" for us in _percentiles_us(every)), "", f"{100 * link_use(link, results):.1f}",
            end_section=True,
        )  # fmt: skip
    return out


def function_json(results: Sequence[Result], link: limits.Link, weights: Mapping[int, int] = EQUAL) -> dict[str, Any]:
    """By function, and the sum. weights: as of of_fair."""
    fair = of_fair(results, link, weights)

    def row(some: Sequence[Result]) -> dict[str, Any]:
        every = np.sort(np.concatenate([r.latencies() for r in some]))
        names = ("p50_us", "p99_us", "p999_us")
        return {"iops": sum(r.iops for r in some), "bw_bytes": sum(r.bytes_per_s for r in some),
                "mean_us": float(every.mean()) / 1e3, **dict(zip(names, _percentiles_us(every))),
                "link_use": link_use(link, some)}  # fmt: skip

    by_function = [{"function": fn, **row([r for r in results if r.function == fn]), "of_fair": share}
                   for fn, share in fair.items()]  # fmt: skip
    return {"functions": by_function, "sum": row(results)}
