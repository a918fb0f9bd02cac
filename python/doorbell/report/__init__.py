# SPDX-License-Identifier: Apache-2.0
"""One web page of measurements, with plots."""

from doorbell.report.figures import Figures
from doorbell.report.measuring import load_area
from doorbell.report.plan import RW, Plan, make_plan

__all__ = [
    "Figures",
    "Plan",
    "RW",
    "load_area",
    "make_plan",
]
