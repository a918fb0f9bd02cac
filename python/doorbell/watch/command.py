# SPDX-License-Identifier: Apache-2.0
"""`./doorbell watch`."""

from __future__ import annotations

import contextlib
import signal

import typer

from doorbell.watch.server import serve

PORT = 8377


def main(
    port: int = typer.Option(PORT, min=0, max=65535, help="Where the page is on this machine; 0: any that is free."),
) -> None:
    """Show on a web page what runs: throughput, latency, queues, stalls of every bench, serve, vm and sweep.

    It may be started before or after them, and changes none of their figures.
    """

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    signal.signal(signal.SIGTERM, stop)
    with contextlib.suppress(KeyboardInterrupt):
        serve(port, lambda address: print(f"doorbell: {address} shows what runs; Ctrl-C ends it", flush=True))
