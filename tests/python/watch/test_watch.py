# SPDX-License-Identifier: Apache-2.0
"""`./doorbell watch`: its files, its server, and its page in Chromium where there is one."""

from __future__ import annotations

import asyncio
import errno
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from doorbell import sweep
from doorbell.device import live
from doorbell.device.live_events import Activity, begin_of, bin_of
from doorbell.device.messages import Event
from doorbell.paths import ROOT
from doorbell.watch import server
from own_mounts import own_mounts
from tornado.httpclient import AsyncHTTPClient, HTTPClientError, HTTPRequest
from tornado.websocket import websocket_connect

CHROMIUM = next(filter(None, map(shutil.which, ("chromium-headless-shell", "chromium", "google-chrome"))), None)


def test_every_latency_has_its_bin() -> None:
    for cycles in range(1, 100_000):
        b = bin_of(cycles)
        assert begin_of(b) <= cycles < begin_of(b + 1)
        assert cycles < 16 or begin_of(b + 1) - begin_of(b) <= cycles / 8


def test_queue_that_wraps() -> None:
    """Tails and indices start again at 0; each entry belongs to the doorbell that brought it."""
    activity, cycle, size, tail = Activity(-100_000), 0, 8, 0
    for round_ in range(50):
        count = round_ % 7 + 1
        tail, first = (tail + count) % size, tail
        cycle += 1000
        events = [Event(cycle, "doorbell", 1, tail)]
        for i in range(count):
            events.append(Event(cycle + 10 + i, "fetch", 1, (first + i) % size | 1 << 16))
        events += [Event(cycle + 50 + i, "decode", i, 1) for i in range(count)]
        activity.take(events)
        if round_ > 8:
            assert activity.show(250)["queues"] == [{"queue": 1, "waiting": 0, "inside": count}]
        activity.take(Event(cycle + 100, "cqe", i, 0) for i in range(count))
    assert activity.latencies == {bin_of(100): activity.commands}


def board(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> live.Board:
    monkeypatch.setattr(live, "folder", lambda: tmp_path)
    return live.Board("bench", "a drive")


def test_board_speaks_when_it_is_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = board(tmp_path, monkeypatch)
    assert not run.wanted()
    assert list(live.runs()) == [(run.path.name, None)]
    assert run.wanted()
    run.show({"ns": 5})
    assert not run.wanted()  # not so soon
    [(_, shown)] = live.runs()
    assert shown and (shown["ns"], shown["command"], shown["pid"]) == (5, "bench", os.getpid())
    assert shown["real_s"] <= time.monotonic()
    run.show({"points": 3, "over": 1})
    assert (later := next(live.runs())[1]) and later["over"] == 1
    assert later["real_s"] > shown["real_s"], "the page takes two snapshots of one time for the same"
    shown = later
    run.show({"long": "x" * live.SIZE})
    assert next(live.runs())[1] == shown
    monkeypatch.setattr(time, "monotonic", lambda now=time.monotonic: now() + 2 * live.WANTED_S)
    assert not run.wanted() and not run.watched  # who asked has gone
    run.close()
    run.close()
    assert not list(live.runs()) and not list(tmp_path.iterdir())


def test_a_full_disk_ends_no_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """There is room for what a run may show before it shows anything: a page of a file that has none is a SIGBUS."""
    run = board(tmp_path, monkeypatch)
    assert run.path.stat().st_blocks * 512 >= live.SIZE
    run.close()

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "posix_fallocate", full)
    with pytest.raises(OSError, match="No space"):
        live.Board("bench", "a drive")
    assert not list(tmp_path.iterdir())
    store = sweep.Store(tmp_path / "r.csv", sweep.columns_of(points := [{"backend": "functional", "number_ios": 20}]))
    assert sweep.run(points, store, jobs=1).measured == 1
    store.close()


def test_killed_run_is_forgotten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "folder", lambda: tmp_path)
    code = ("import sys,time; from pathlib import Path; from doorbell.device import live;"
            f"live.folder = lambda: Path({str(tmp_path)!r});"
            "b = live.Board('bench', 'x'); print(flush=True); time.sleep(60)")  # fmt: skip
    child = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE,
                             env={**os.environ, "PYTHONPATH": str(ROOT / "python")})  # fmt: skip
    assert child.stdout and child.stdout.readline()
    assert len(list(live.runs())) == 1
    child.kill()
    child.wait()
    assert not list(live.runs()) and not list(tmp_path.iterdir())


FULL = """
import subprocess, sys
from pathlib import Path
from doorbell.device import live
disk = Path(sys.argv[1])
subprocess.run(["mount", "-t", "tmpfs", "-o", "size=128k", "none", disk], check=True)
live.folder = lambda: disk
try:
    run = live.Board("serve", "a drive")
    run.show({"long": "x" * (live.SIZE - 1000)})
except OSError as e:
    print(e.strerror, list(disk.iterdir()))
"""


def test_full_disk(tmp_path: Path) -> None:
    """A run whose file finds no room is not watched; it does not end by a signal."""
    done = subprocess.run([*own_mounts(), sys.executable, "-c", FULL, tmp_path], check=False, capture_output=True,
                          text=True, env={**os.environ, "PYTHONPATH": str(ROOT / "python")})  # fmt: skip
    assert (done.returncode, done.stdout) == (0, "No space left on device []\n"), done.stderr


def test_copy_of_a_process_leaves_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = board(tmp_path, monkeypatch)
    if not (pid := os.fork()):
        run.close()
        os._exit(0)
    os.waitpid(pid, 0)
    assert len(list(live.runs())) == 1
    run.close()


# ---- the server


@contextmanager
def serving() -> Iterator[str]:
    """The command as users start it; the page's address."""
    env = {**os.environ, "PYTHONPATH": str(ROOT / "python")}
    child = subprocess.Popen([sys.executable, "-m", "doorbell", "watch", "--port", "0"], stdout=subprocess.PIPE,
                             text=True, env=env)  # fmt: skip
    assert child.stdout
    found = re.search(r"http://[\d.]+:\d+/", child.stdout.readline())
    assert found
    try:
        yield found[0]
    finally:
        child.send_signal(signal.SIGTERM)
        assert child.wait(10) == 0


@contextmanager
def running(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[live.Board]:
    """A run that says the same of itself as a drive would: 4 GB/s, 1 MIOPS, two queues."""
    monkeypatch.setenv("DOORBELL_CACHE", str(tmp_path))
    run = live.Board("bench", "a <b>drive</b>")
    over = threading.Event()
    begun = time.monotonic()

    def speak() -> None:
        while not over.wait(0.05):
            us = round((time.monotonic() - begun) * 1e5)  # a tenth of real time
            if run.wanted():
                run.show(snapshot(us))

    thread = threading.Thread(target=speak)
    thread.start()
    try:
        yield run
    finally:
        over.set()
        thread.join()
        run.close()


def snapshot(us: int) -> dict[str, Any]:
    return {
        "ns": us * 1000.0, "real_s": us / 1e5, "cycles": us * 250, "clock_mhz": 250.0, "jobs": "read", "done": 0.5,
        "operators": ["aes-xts"],
        "link": {"name": "gen3x8", "bytes_per_ns": 8.0, "up": us * 4000, "down": us * 800},
        "stalls": {name: us * 25 * i for i, name in enumerate(live.STALLS)} | {"late": 0},
        "functions": [{"fn": 0, "written": us * 3000, "read": us * 1000, "interrupts": us},
                      {"fn": 1, "written": us * 500, "read": 0, "interrupts": 0}],
        "ssds": [{"read": us * 100, "written": us * 200}],
        "since_ns": 0.0, "commands": us, "interrupts": us,
        "queues": [{"queue": 1, "waiting": 3, "inside": 21}, {"queue": 2, "waiting": 0, "inside": 4}],
        "latency": [[8000.0, 9000.0, 9 * us], [16000.0, 18000.0, us]],
    }  # fmt: skip


def test_server_tells_pages_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with running(tmp_path, monkeypatch) as run, serving() as address:

        async def look() -> None:
            client = AsyncHTTPClient()
            for name in server.FILES:
                assert (await client.fetch(address + name)).code == 200
            for bad in (address + "../server.py", address + "server.py"):
                with pytest.raises(HTTPClientError, match="404"):
                    await client.fetch(bad)
            with pytest.raises(HTTPClientError, match="404"):  # a foreign name that leads here
                await client.fetch(HTTPRequest(address, headers={"Host": "evil.example"}))
            socket = address.replace("http", "ws") + "live"
            with pytest.raises(HTTPClientError, match="403"):
                await websocket_connect(HTTPRequest(socket, headers={"Origin": "http://evil.example"}))
            mine = await websocket_connect(HTTPRequest(socket, headers={"Origin": address.rstrip("/")}))
            deadline = time.monotonic() + 20
            while True:
                runs = json.loads(str(await mine.read_message()))["runs"]
                assert [r["name"] for r in runs] == [run.path.name]
                if "ns" in runs[0]:
                    break
                assert time.monotonic() < deadline
            assert runs[0]["title"] == "a <b>drive</b>" and runs[0]["commands"] * 1000 == runs[0]["ns"]
            mine.close()

        asyncio.run(look())


class Client:
    """What the server tells of its messages; one that is asleep takes none."""

    sending = None

    def __init__(self, asleep: bool) -> None:
        self.asleep, self.got = asleep, 0

    async def write_message(self, text: str) -> None:
        self.got += 1
        if self.asleep:
            await asyncio.Future()


def test_a_client_that_does_not_read_stops_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """A browser that was stopped, or a laptop whose lid is closed."""
    monkeypatch.setattr(server, "message", lambda: "{}")
    monkeypatch.setattr(server, "EVERY_S", 0.001)
    clients = [Client(asleep) for asleep in (True, False, True)]

    async def look() -> None:
        telling = asyncio.ensure_future(server._tell(set(clients)))  # type: ignore[arg-type]
        deadline = time.monotonic() + 10
        while clients[1].got < 5 and time.monotonic() < deadline:
            await asyncio.sleep(0.01)
        telling.cancel()

    asyncio.run(look())
    assert clients[1].got >= 5
    assert [c.got for c in clients if c.asleep] == [1, 1], "and nothing piles up for it"


def test_page_needs_no_network() -> None:
    """Nothing but its own files, and the namespace of SVG, which is a name."""
    for name, _ in server.FILES.values():
        text = (ROOT / "python" / "doorbell" / "watch" / name).read_text()
        assert {*re.findall(r"https?://[^\s\"'`]+", text)} <= {"http://www.w3.org/2000/svg"}


def test_port_that_is_taken_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOORBELL_CACHE", str(tmp_path))
    with serving() as address:
        port = address.rstrip("/").rpartition(":")[2]
        again = subprocess.run([sys.executable, "-m", "doorbell", "watch", "--port", port], capture_output=True,
                               text=True, env={**os.environ, "PYTHONPATH": str(ROOT / "python")})  # fmt: skip
    assert again.returncode == 2 and again.stderr.count("\n") == 1 and "somebody else has it" in again.stderr


# ---- the page


class Browser:
    """Chromium by its DevTools protocol."""

    def __init__(self, socket: Any) -> None:
        self.socket, self.number = socket, 0
        self.complaints: list[str] = []

    async def call(self, method: str, **parameters: Any) -> Any:
        self.number += 1
        await self.socket.write_message(json.dumps({"id": self.number, "method": method, "params": parameters}))
        while True:
            said = json.loads(await self.socket.read_message())
            if said.get("id") == self.number:
                return said["result"]
            if said.get("method") in ("Runtime.exceptionThrown", "Log.entryAdded"):
                self.complaints.append(json.dumps(said["params"]))

    async def value(self, script: str) -> Any:
        result = (await self.call("Runtime.evaluate", expression=script, returnByValue=True))["result"]
        return result.get("value")

    async def until(self, script: str, holds: Callable[[Any], bool]) -> Any:
        for _ in range(100):
            if holds(found := await self.value(script)):
                return found
            await asyncio.sleep(0.1)
        raise AssertionError(f"{script}: {found}")


@contextmanager
def chromium(folder: Path) -> Iterator[str]:
    """Where its DevTools are."""
    assert CHROMIUM
    child = subprocess.Popen([CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-port=0",
                              f"--user-data-dir={folder}", "about:blank"],
                             stderr=subprocess.PIPE, text=True)  # fmt: skip
    assert child.stderr
    try:
        yield next(found[1] for line in child.stderr if (found := re.search(r"ws://([\d.]+:\d+)/", line)))
    finally:
        child.terminate()
        child.wait(20)


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine")
def test_page_shows_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with running(tmp_path / "cache", monkeypatch) as run, serving() as address, chromium(tmp_path / "profile") as tools:

        async def look() -> None:
            pages = json.loads((await AsyncHTTPClient().fetch(f"http://{tools}/json")).body)
            page = next(p["webSocketDebuggerUrl"] for p in pages if p["type"] == "page")
            browser = Browser(await websocket_connect(page))
            for domain in ("Runtime", "Log", "Page"):
                await browser.call(f"{domain}.enable")
            await browser.call("Page.navigate", url=address)
            assert await browser.until("document.querySelector('.title')?.textContent", bool) == "a <b>drive</b>"
            figures = await browser.until(
                "[...document.querySelectorAll('.figures div')].map(d => [...d.children].map(c => c.textContent))",
                lambda f: f and "IOPS, real" in dict(f),
            )
            shown = dict(figures)
            assert shown["link to host"] == "50.0 %" and shown["link from host"] == "10.0 %"
            assert shown["kIOPS, simulated"] == "1000" and shown["IOPS, real"] == "100000"
            assert shown["latency p50"] == "8 us" and shown["latency p99"] == "16 us"
            bars = "[...document.querySelector('.%s').querySelectorAll('text')].map(t => t.textContent)"
            assert await browser.value(bars % "queues") == ["queue 1", "21 + 3", "queue 2", "4 + 0"]
            assert await browser.value(bars % "functions") == ["PF", "3 + 1", "VF 1", "0.5 + 0"]
            assert await browser.value(bars % "ssds") == ["SSD 0", "0.2 + 0.1"]
            stalls = await browser.value(bars % "stalls")
            assert stalls[1::2] == ["0 %", "10 %", "20 %", "30 %", "40 %", "50 %"]
            assert "50 % done, operators: aes-xts" in await browser.value(
                "document.querySelector('.doing').textContent"
            )
            heights = "[...document.querySelectorAll('.latency rect')].map(r => +r.getAttribute('height'))"
            one, other = await browser.value(heights)
            assert one / other == pytest.approx(9, rel=0.02)  # bins of the same width on the axis
            assert not browser.complaints
            run.path.unlink()
            await browser.until("document.querySelector('.run').className", lambda c: "over" in c)

        asyncio.run(look())
