# SPDX-License-Identifier: Apache-2.0
"""Workloads on simulated drives, hosts and recorders: jobs, runs, results beside the link's limit, targets."""

from doorbell.bench.bringup import host_memory, start_queues
from doorbell.bench.jobs import Job, apply_option, describe, groups, parse_job_file
from doorbell.bench.results import Result, fio_json, link_limit, link_use, percentile, table
from doorbell.bench.runner import run_group
from doorbell.bench.stages import Recorder

__all__ = [
    "Job",
    "Recorder",
    "Result",
    "apply_option",
    "describe",
    "fio_json",
    "groups",
    "host_memory",
    "link_limit",
    "link_use",
    "parse_job_file",
    "percentile",
    "run_group",
    "start_queues",
    "table",
]
