# SPDX-License-Identifier: Apache-2.0
"""The launcher: first use, two at once, killed half way, and every error."""

from __future__ import annotations

import base64
import hashlib
import importlib.machinery
import importlib.util
import io
import os
import signal
import subprocess
import sys
import tarfile
import time
import zipfile
from importlib import metadata
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest
from packaging.specifiers import SpecifierSet

ROOT = Path(__file__).resolve().parents[3]
LAUNCHER = ROOT / "doorbell"


@pytest.fixture
def launcher() -> ModuleType:
    loader = importlib.machinery.SourceFileLoader("launcher", str(LAUNCHER))
    spec = importlib.util.spec_from_loader("launcher", loader)
    assert spec
    module = importlib.util.module_from_spec(spec)
    sys.dont_write_bytecode, before = True, sys.dont_write_bytecode
    loader.exec_module(module)
    sys.dont_write_bytecode = before
    return module


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("DOORBELL_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def tiny_wheel(folder: Path) -> str:
    """A wheel with one script, in `folder`; returns its sha256."""
    files = {
        "tiny.py": "def main():\n    print('tiny')\n",
        "tiny-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: tiny\nVersion: 1.0\n",
        "tiny-1.0.dist-info/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        "tiny-1.0.dist-info/entry_points.txt": "[console_scripts]\ntiny = tiny:main\n",
    }
    record = ""
    for name, text in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()
        record += f"{name},sha256={digest},{len(text)}\n"
    files["tiny-1.0.dist-info/RECORD"] = record + "tiny-1.0.dist-info/RECORD,,\n"
    wheel = folder / "tiny-1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as z:
        for name, text in files.items():
            z.writestr(name, text)
    return hashlib.sha256(wheel.read_bytes()).hexdigest()


def write_lock(folder: Path, digest: str) -> Path:
    lock = folder / "requirements.lock"
    lock.write_text(f"tiny==1.0 \\\n    --hash=sha256:{digest}\n")
    return lock


@pytest.fixture
def offline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """pip sees one wheel and no network."""
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    return write_lock(tmp_path, tiny_wheel(tmp_path))


# ---------------------------------------------------------------- the environment


def test_first_use_then_reuse(launcher: ModuleType, cache: Path, offline: Path) -> None:
    out = io.StringIO()
    env = Path(launcher.ensure_env(str(cache), str(offline), out))
    assert "first use" in out.getvalue() and "ready" in out.getvalue()
    script = subprocess.run([env / "bin" / "tiny"], capture_output=True, text=True)
    assert script.stdout == "tiny\n"  # its first line names the final folder, not the temporary one
    assert not list(cache.glob("*.tmp"))
    again = io.StringIO()
    assert launcher.ensure_env(str(cache), str(offline), again) == str(env)
    assert again.getvalue() == ""
    other = write_lock(offline.parent, "0" * 64)
    assert launcher.env_dir(str(cache), str(other)) != str(env)


def test_each_python_has_an_environment_of_its_own(
    launcher: ModuleType, offline: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = set()
    for version in ((3, 11, 2), (3, 12, 0), (3, 12, 7), (3, 13, 1)):
        monkeypatch.setattr(launcher.sys, "version_info", version)
        found.add(launcher.env_dir("cache", str(offline)))
    assert len(found) == 3


def test_nothing_is_built_from_source(
    launcher: ModuleType, cache: Path, tmp_path: Path, offline: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A source package's own program would run, with whatever is installed: only wheels are taken."""
    monkeypatch.setenv("PIP_NO_BUILD_ISOLATION", "0")  # which is pip's word for: with what is there, no network
    mark = tmp_path / "mark"
    (tmp_path / "tiny-1.0-py3-none-any.whl").unlink()
    archive = tmp_path / "tiny-1.0.tar.gz"
    with tarfile.open(archive, "w:gz") as tar:
        text = f"open({str(mark)!r}, 'w')\nfrom setuptools import setup\nsetup(name='tiny', version='1.0')\n".encode()
        entry = tarfile.TarInfo("tiny-1.0/setup.py")
        entry.size = len(text)
        tar.addfile(entry, io.BytesIO(text))
    lock = write_lock(tmp_path, hashlib.sha256(archive.read_bytes()).hexdigest())
    with pytest.raises(launcher.LauncherError):
        launcher.ensure_env(str(cache), str(lock), io.StringIO())
    assert not mark.exists()


def test_broken_environment_is_made_again(launcher: ModuleType, tmp_path: Path) -> None:
    final, temporary = tmp_path / "env", tmp_path / "env.tmp"
    (final / "bin").mkdir(parents=True)
    (final / "bin" / "python").symlink_to(tmp_path / "gone")
    (temporary / "bin").mkdir(parents=True)
    (temporary / "bin" / "run").write_text(f"#!{temporary}/bin/python\n")
    launcher.move_into_place(str(temporary), str(final))
    assert (final / "bin" / "run").read_text() == f"#!{final}/bin/python\n"
    assert not (final / "bin" / "python").is_symlink() and not temporary.exists()


# A launcher whose pip takes a second and counts its runs; argv: cache, lock file, counter file, seconds
FAKE = """
import importlib.machinery, importlib.util, os, sys, time
loader = importlib.machinery.SourceFileLoader("launcher", {launcher!r})
module = importlib.util.module_from_spec(importlib.util.spec_from_loader("launcher", loader))
sys.dont_write_bytecode = True
loader.exec_module(module)
cache, lock, counter, seconds = sys.argv[1:]
def pip_command(env, fd):
    os.makedirs(os.path.join(env, "bin"))
    code = "import os,sys,time; open(sys.argv[1],'a').write('x'); time.sleep(float(sys.argv[2]));"
    code += "open(os.path.join(sys.argv[3],'bin','python'),'w').close()"
    return [sys.executable, "-c", code, counter, seconds, env]
module.pip_command = pip_command
module.check_tools = lambda: None
print(module.ensure_env(cache, lock, sys.stderr))
"""


def start_fake(cache: Path, lock: Path, counter: Path, seconds: float) -> subprocess.Popen[str]:
    code = FAKE.format(launcher=str(LAUNCHER))
    command = [sys.executable, "-c", code, str(cache), str(lock), str(counter), str(seconds)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def wait_for(condition, seconds: float = 10) -> None:
    limit = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < limit, "timed out"
        time.sleep(0.02)


def test_two_at_once_make_one(cache: Path, tmp_path: Path) -> None:
    lock, counter = write_lock(tmp_path, "0" * 64), tmp_path / "runs"
    first = start_fake(cache, lock, counter, 1.0)
    wait_for(counter.exists)
    second = start_fake(cache, lock, counter, 1.0)
    out1, err1 = first.communicate(timeout=20)
    out2, err2 = second.communicate(timeout=20)
    assert (first.returncode, second.returncode) == (0, 0), err1 + err2
    assert out1 == out2 and os.path.exists(os.path.join(out1.strip(), "bin", "python"))
    assert counter.read_text() == "x" and "waiting" in err2


def test_killed_half_way_leaves_nothing_broken(cache: Path, tmp_path: Path) -> None:
    lock, counter = write_lock(tmp_path, "0" * 64), tmp_path / "runs"
    first = start_fake(cache, lock, counter, 1.5)
    wait_for(counter.exists)
    first.send_signal(signal.SIGKILL)
    first.communicate(timeout=20)  # the orphaned installer still writes; it holds the lock while it does
    assert not [e for e in cache.iterdir() if e.is_dir() and e.suffix != ".tmp"]
    second = start_fake(cache, lock, counter, 0.0)
    out, err = second.communicate(timeout=20)
    assert second.returncode == 0 and "waiting" in err
    assert counter.read_text() == "xx"
    assert os.path.exists(os.path.join(out.strip(), "bin", "python")) and not list(cache.glob("*.tmp"))


FAKE_PIP = """#!/bin/sh
echo "pip $*" >>{log}
case $1 in
  config) echo {config} ;;
  install)
    mkdir -p {env}/bin
    printf '#!/bin/sh\\necho "uv $*" >>{log}; exit {status}\\n' >{env}/bin/uv
    chmod +x {env}/bin/uv
    cp {env}/uv.lock {env}/pinned 2>/dev/null || true ;;
esac
"""
LOCK = "tiny==1.0 \\\n    --hash=sha256:00\nuv==1.2 \\\n    --hash=sha256:11 \\\n    --hash=sha256:22\n    # via -r x\n"


@pytest.mark.parametrize(
    ("config", "status", "asked"),
    [
        ("global.cert=x", 0, ["pip config", "pip install", "uv pip"]),  # says nothing of where packages come from
        ("global.cert=x", 1, ["pip config", "pip install", "uv pip", "pip install"]),  # pip says what is wrong
        (":env:.index-url=http://x", 0, ["pip config", "pip install"]),  # and is what knows how to get there
        ("global.proxy=x", 0, ["pip config", "pip install"]),
    ],
)
def test_uv_installs_where_pip_has_no_origin_of_its_own(
    launcher: ModuleType, tmp_path: Path, config: str, status: int, asked: list[str]
) -> None:
    env, log, pip, lock = (tmp_path / name for name in ("env", "log", "pip", "requirements.lock"))
    env.mkdir()
    pip.write_text(FAKE_PIP.format(env=env, log=log, config=config, status=status))
    pip.chmod(0o755)
    lock.write_text(LOCK)
    with open(tmp_path / "fd", "w") as f:
        progress = launcher.Progress(io.StringIO())
        launcher.install([str(pip)], str(env), str(lock), str(tmp_path / "pip.log"), progress, f.fileno())
    said = log.read_text().splitlines()
    assert [" ".join(line.split()[:2]) for line in said] == asked
    assert all("--require-hashes --only-binary :all:" in line for line in said[1:])
    assert all(line.endswith(f"-r {lock}") for line in (said[-1], *said[2:3]))
    assert ("--ignore-installed" in said[-1]) is (status != 0), "a package that uv has half unpacked is not left so"
    if len(asked) > 2:  # pip was asked for uv alone, with its hashes
        assert (env / "pinned").read_text().split() == ["uv==1.2", "--hash=sha256:11", "--hash=sha256:22"]
        assert not (env / "uv.lock").exists() and not (env / "uv-cache").exists()


# ---------------------------------------------------------------- errors of the launcher


def run_launcher(env: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, str(LAUNCHER), "lint"], env=env, capture_output=True, text=True, timeout=60)


def assert_one_line(done: subprocess.CompletedProcess[str], *words: str) -> None:
    assert done.returncode == 2 and done.stdout == ""
    assert done.stderr.startswith("doorbell: ") and done.stderr.count("\n") == 1, done.stderr
    for word in words:
        assert word in done.stderr


def test_missing_compiler(cache: Path, tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "perl").symlink_to("/bin/true")
    done = run_launcher({"PATH": str(tmp_path / "bin"), "DOORBELL_CACHE": str(cache)})
    assert_one_line(done, "g++ and make are missing", "apt-get install g++ make")
    assert not cache.exists()


def test_cache_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    done = run_launcher({**os.environ, "DOORBELL_CACHE": str(tmp_path / "file" / "cache")})
    assert_one_line(done, "DOORBELL_CACHE")


def test_old_python(launcher: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(launcher, "OLDEST", (3, 80))
    with pytest.raises(launcher.LauncherError, match=r"Python 3\.80 or later is needed, this is 3\."):
        launcher.check_python()
    compile(LAUNCHER.read_text(), "doorbell", "exec", dont_inherit=True)
    import ast

    ast.parse(LAUNCHER.read_text(), feature_version=(3, 6))  # an old Python must get as far as that message


def pip_fails(launcher: ModuleType, tmp_path: Path, lock: Path) -> str:
    with open(tmp_path / "fd", "w") as f, pytest.raises(launcher.LauncherError) as e:
        pip = [sys.executable, "-I", "-m", "pip"]
        progress = launcher.Progress(io.StringIO())
        launcher.install(pip, str(tmp_path), str(lock), str(tmp_path / "pip.log"), progress, f.fileno())
    assert "\n" not in str(e.value) and "pip.log" in str(e.value)
    return str(e.value)


def test_wrong_hash(launcher: ModuleType, offline: Path) -> None:
    assert "does not have the hash" in pip_fails(launcher, offline.parent, write_lock(offline.parent, "0" * 64))


def test_no_network(launcher: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PIP_FIND_LINKS", raising=False)
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    monkeypatch.setenv("PIP_RETRIES", "0")
    assert "cannot reach" in pip_fails(launcher, tmp_path, write_lock(tmp_path, "0" * 64))


@pytest.mark.parametrize(
    ("output", "words"),
    [
        ("Collecting a\n  Downloading a.whl\nERROR: Could not find a version (from versions: none)\n"
         "ERROR: No matching distribution found for b==1", "b==1 has no build for"),
        ("WARNING: Retrying ... Temporary failure in name resolution\nERROR: (from versions: none)", "cannot reach"),
        ("ERROR: Could not install: [Errno 28] No space left on device", "no space left"),
        ("ERROR: something new", "something new"),
        ("", "no output"),
    ],
)  # fmt: skip
def test_explanations(launcher: ModuleType, tmp_path: Path, output: str, words: str) -> None:
    (tmp_path / "log").write_text(output)
    assert words in launcher.explain(str(tmp_path / "log"))


def test_no_venv_module(launcher: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(launcher.sys, "executable", "/bin/false")
    with open(tmp_path / "fd", "w") as f, pytest.raises(launcher.LauncherError, match="python3-venv"):
        launcher.pip_command(str(tmp_path / "env"), f.fileno())


def test_a_full_disk_is_not_a_missing_module(
    launcher: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What makes the environment does not say why it could not."""
    monkeypatch.setattr(launcher.sys, "executable", "/bin/false")
    monkeypatch.setattr(launcher.shutil, "disk_usage", lambda folder: SimpleNamespace(free=1 << 20))
    with open(tmp_path / "fd", "w") as f, pytest.raises(launcher.LauncherError, match="no space left"):
        launcher.pip_command(str(tmp_path / "env"), f.fileno())


def test_a_clone_that_is_not_complete(cache: Path, tmp_path: Path) -> None:
    alone = tmp_path / "doorbell"
    alone.write_text(LAUNCHER.read_text())
    done = subprocess.run([sys.executable, str(alone), "demo"], capture_output=True, text=True, check=False)
    assert_one_line(done, "requirements.lock")
    assert not cache.exists()


def test_lock_file_is_complete() -> None:
    text = (ROOT / "requirements.lock").read_text()
    assert "://" not in text  # no index is named: the user's own settings hold
    locked = {line.removesuffix("\\").strip() for line in text.splitlines() if line[:1].isalnum()}
    wanted = [w for w in (ROOT / "requirements.in").read_text().splitlines() if w and not w.startswith("#")]
    assert wanted and set(wanted) <= locked
    entries = text.replace("\\\n", "").splitlines()
    assert all("--hash=sha256:" in e for e in entries if e[:1].isalnum())


def test_packages_are_for_the_oldest_python() -> None:
    """The README asks for Python 3.11: Debian 12 has 3.11.2, which a package must not be too new for."""
    needs = {d.name: d.metadata["Requires-Python"] for d in metadata.distributions()}
    assert len(needs) > 100
    assert [name for name, python in needs.items() if python and "3.11.0" not in SpecifierSet(python)] == []
