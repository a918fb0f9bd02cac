# SPDX-License-Identifier: Apache-2.0
"""The launcher, the command line and the build cache: first use, two at once, killed half way, and every error."""

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
from types import ModuleType

import pytest
from doorbell import build, paths
from doorbell.build import cache as cache_module
from doorbell.build import compiler
from doorbell.cli import main as cli
from doorbell.cli import testing
from doorbell.errors import UserError
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


# ---------------------------------------------------------------- the command line


def test_help_lists_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["--help"]) == 0
    out = capsys.readouterr().out
    assert all(name in out for name in cli.COMMANDS)


def raiser(error: BaseException):
    def command() -> None:
        raise error

    return command


@pytest.mark.parametrize(
    ("error", "status", "text"),
    [
        (UserError("no such\n top"), 2, "doorbell: no such top\n"),
        (UserError("lint failed", status=1), 1, "doorbell: lint failed\n"),
        (KeyboardInterrupt(), 130, ""),
        (KeyError("x"), 1, "doorbell: internal error: KeyError: 'x' (details: {cache}/last-error.txt)\n"),
    ],
)
def test_errors_are_one_line(
    error: BaseException, status: int, text: str, cache: Path,
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.delenv("DOORBELL_DEBUG", raising=False)
    monkeypatch.setattr(cli, "load", lambda name: raiser(error))
    assert cli.run(["lint"]) == status
    assert capsys.readouterr().err == text.format(cache=cache)


@pytest.mark.parametrize("line", ["nosuch", "lint --nosuch", "build --data-w x", "build --data-w 100"])
def test_wrong_usage_is_one_line(line: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(line.split()) == 2
    err = capsys.readouterr().err
    assert err.startswith("doorbell: ") and err.count("\n") == 1


def test_missing_module(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setitem(cli.COMMANDS, "later", cli.Subcommand("doorbell.nosuch", "Later.", ""))
    assert cli.run(["later"]) == 2
    assert "not part of this version" in capsys.readouterr().err


def test_exit_status_of_a_command(monkeypatch: pytest.MonkeyPatch) -> None:
    import typer

    monkeypatch.setattr(cli, "load", lambda name: raiser(typer.Exit(7)))
    assert cli.run(["vm"]) == 7
    monkeypatch.setattr(cli, "load", lambda name: lambda: 9)
    assert cli.run(["vm"]) == 9
    monkeypatch.setattr(cli, "load", lambda name: lambda: sys.exit(4))
    assert cli.run(["vm"]) == 4


def test_pytest_arguments() -> None:
    plain = testing.pytest_args("", False, 2, [])
    assert "not nightly" in plain and "-k" not in plain
    full = testing.pytest_args("fifo", True, 1, ["tests/rtl", "-x"])
    assert "not nightly" not in full and full[-4:] == ["-k", "fifo", "tests/rtl", "-x"]


def test_waves_of_all_tests_are_refused(capfd: pytest.CaptureFixture[str]) -> None:
    """They would fill the disk."""
    assert cli.run(["test", "--wave", "--no-lint", "-x"]) == 2
    assert "choose some, with -k" in capfd.readouterr().err


# ---------------------------------------------------------------- the build cache


def test_cached_builds_once(cache: Path) -> None:
    runs: list[Path] = []

    def make(out: Path) -> None:
        runs.append(out)
        (out / "result").write_text("made")

    first = build.cached("thing", ("a", 1), make)
    assert build.cached("thing", ("a", 1), make) == first and len(runs) == 1
    assert (first / "result").read_text() == "made" and not runs[0].exists()
    assert build.cached("thing", ("a", 2), make) != first and len(runs) == 2


def test_failed_build_leaves_nothing(cache: Path) -> None:
    def make(out: Path) -> None:
        (out / "half").write_text("")
        raise UserError("broken")

    with pytest.raises(UserError, match="broken"):
        build.cached("thing", "k", make)
    assert not [e for e in (cache / "build").iterdir() if e.is_dir()]
    done = build.cached("thing", "k", lambda out: None)
    assert not (done / "half").exists()


BUILDER = """
import sys, time
from doorbell import build
def make(out):
    (out / "part").write_text("")
    open(sys.argv[1], "a").write("x")
    build.tool(["sleep", sys.argv[2]], "sleep")
    (out / "whole").write_text("")
print(build.cached("thing", "k", make))
"""


def start_builder(counter: Path, seconds: float) -> subprocess.Popen[str]:
    env = {**os.environ, "PYTHONPATH": str(ROOT / "python")}
    command = [sys.executable, "-c", BUILDER, str(counter), str(seconds)]
    return subprocess.Popen(command, env=env, stdout=subprocess.PIPE, text=True)


def test_builders_at_once_and_killed(cache: Path, tmp_path: Path) -> None:
    counter = tmp_path / "runs"
    killed = start_builder(counter, 4)  # its sleep has the lock to the end
    wait_for(lambda: counter.exists() and bool(counter.read_text()))
    killed.kill()
    killed.communicate(timeout=60)
    both = [start_builder(counter, 0.3) for _ in range(2)]
    results = {p.communicate(timeout=60)[0].strip() for p in both}
    assert len(results) == 1 and (Path(results.pop()) / "whole").exists()
    assert counter.read_text() == "xx"  # the killed one, and one of the two


def test_prune(cache: Path) -> None:
    old, new = build.cached("old", 1, lambda out: None), build.cached("new", 1, lambda out: None)
    os.utime(old, (0, 0))
    (cache / "build" / "x.o").write_text("")
    os.utime(cache / "build" / "x.o", (0, 0))
    cache_module.prune(cache / "build")
    assert new.exists() and not old.exists() and not (cache / "build" / "x.o").exists()


def test_prune_by_size(cache: Path) -> None:
    """What was used for the longest time ago leaves when there is too much; what is in use stays."""
    folders = [build.cached("kept", i, lambda out: (out / "data").write_bytes(bytes(1000))) for i in range(4)]
    for age, folder in enumerate(folders):
        os.utime(folder, (time.time() - 7200 * age,) * 2)
    cache_module.prune(cache / "build", most=2500)
    assert all(f.exists() for f in folders), "what is small stays"
    cache_module.prune(cache / "build", most=2500, small=0)
    assert [f.exists() for f in folders] == [True, True, False, False]
    cache_module.prune(cache / "build", most=0, small=0)
    assert [f.exists() for f in folders] == [True, False, False, False]


def test_clean(cache: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    build.cached("some", 1, lambda out: (out / "data").write_bytes(bytes(3_000_000)))
    (cache / "env-1").mkdir()
    assert cli.run(["clean", "--dry-run"]) == 0 and "would remove 3 MB" in capsys.readouterr().out
    assert cli.run(["clean", "--keep-env"]) == 0
    assert [f.name for f in cache.iterdir()] == ["env-1"]
    assert cli.run(["clean"]) == 0 and not list(cache.iterdir())


def test_objects_are_shared_by_content(cache: Path, tmp_path: Path) -> None:
    (cache / "build").mkdir(parents=True)
    source = tmp_path / "a.cpp"
    source.write_text("int f() { return 1; }  // one\n")
    flags = ["-O1", "-Wall", "-Werror", "-I."]
    first = compiler.compile_object(source, flags, tmp_path)
    stamp = first.stat().st_ino
    source.write_text("int f() { return 1; }  // another comment\n")
    assert compiler.compile_object(source, flags, tmp_path) == first and first.stat().st_ino == stamp
    assert compiler.compile_object(source, ["-O2", *flags[1:]], tmp_path) != first
    source.write_text("int f() { return 2; }\n")
    assert compiler.compile_object(source, flags, tmp_path) != first
    source.write_text("int f() { }\n")
    with pytest.raises(UserError, match="a.cpp"):
        compiler.compile_object(source, flags, tmp_path)


def test_one_list_of_rtl() -> None:
    sources = build.rtl_sources()
    names = [f.name for f in sources.all_files()]
    assert len(names) == len(set(names)) and names.index("db_nvme_pkg.sv") < names.index("db_ssd_pkg.sv")
    on_disk = {f.name for folder in build.FOLDERS for f in (paths.RTL / folder).glob("*.sv")}
    assert on_disk <= set(names) and "picorv32.v" in names
    folders = {str(f.parent.relative_to(paths.RTL)) for f in paths.RTL.rglob("*.sv")}
    every = {f for f in folders if not f.startswith("compute/ops/")}  # those are found
    assert every <= set(build.FOLDERS), "a folder of rtl/ is missing in build.FOLDERS"


def test_verible_rules_find_faults(tmp_path: Path) -> None:
    paths.put_tools_on_path()
    rules = f"--rules_config={ROOT / '.rules.verible_lint'}"
    text = "// SPDX\nmodule {name} #(\n    parameter int WIDTH = 8\n) (\n    input logic clk\n);\nendmodule\n"
    good, bad = tmp_path / "good.sv", tmp_path / "bad.sv"
    good.write_text(text.format(name="good"))
    bad.write_text(text.format(name="worse"))
    assert subprocess.run(["verible-verilog-lint", rules, good], capture_output=True).returncode == 0
    assert subprocess.run(["verible-verilog-lint", rules, bad], capture_output=True).returncode != 0


def test_paths(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DOORBELL_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", "/x")
    assert paths.cache() == Path("/x/doorbell")
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert paths.cache() == Path.home() / ".cache" / "doorbell"
