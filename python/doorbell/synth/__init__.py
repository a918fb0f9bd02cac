# SPDX-License-Identifier: Apache-2.0
"""Area and depth of logic of the RTL, from yosys."""

from doorbell.synth.design import split
from doorbell.synth.measuring import Module, Result, measure
from doorbell.synth.records import BEGIN, DOCUMENT, END, RECORDS, growth, markdown_tables, read_records, write_records
from doorbell.synth.timing import clock, place

__all__ = [
    "BEGIN",
    "DOCUMENT",
    "END",
    "Module",
    "RECORDS",
    "Result",
    "clock",
    "growth",
    "markdown_tables",
    "measure",
    "place",
    "read_records",
    "split",
    "write_records",
]
