# SPDX-License-Identifier: BSD-3-Clause
"""Programs that know nothing of vtrace do the same with the I/O shim preloaded as without, and their trace unifies."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.check import check
from support.iocalls import io_calls
from support.run import unify
from support.tools import Done, call, need
from vtrace import paths

PRELOAD = ":".join(str(paths.LIB / name) for name in ("libvtrace.so.1", "libvtrace-io.so"))

PYTHON = """
import os, shutil, socket, sqlite3, subprocess, threading
print(subprocess.run(["echo", "hi"], capture_output=True, text=True).stdout)
print(len(subprocess.run(["cat"], input=b"x" * 100000, capture_output=True).stdout))
data = sqlite3.connect("t.db")
data.execute("create table t(a)")
data.executemany("insert into t values(?)", [(i,) for i in range(1000)])
data.commit()
print(data.execute("select sum(a) from t").fetchone())
data.close()
open("f", "w").write("z" * 5000)
shutil.copy("f", "g")
os.rename("g", "h")
print(len(open("h").read()))
a, b = socket.socketpair()
threading.Thread(target=a.send, args=(b"q",)).start()
print(b.recv(1))
pid = os.fork()
if not pid:
    print("child", flush=True)
    os._exit(3)
print(os.waitpid(pid, 0)[1])
raise SystemExit(5)
"""
GIT = """
export GIT_AUTHOR_DATE=2020-01-01T00:00:00Z GIT_COMMITTER_DATE=2020-01-01T00:00:00Z HOME=$PWD
export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a
git init -q -b main r && cd r
for i in 1 2 3 4 5; do seq $((i * 100)) > f$i; git add f$i; git commit -qm m$i; done
git log --stat; cd ..; git clone -q r s && cd s && git fsck && git gc -q && git rev-parse HEAD && cat f5 | md5sum
cd .. && rm -rf r s
"""
BASH = """
for i in 1 2 3; do echo $i | cat | tr 1 2 > f$i; done
cat f* | sort | uniq -c; x=$(echo sub); echo $x >&2
exec 5>five; echo hello >&5; exec 5>&-
while read line; do echo "line=$line"; done < five
cat <<< here; (exit 4)
"""
GCC = """
printf '#include <stdio.h>\\nint main(void) { puts("ok"); return 7; }\\n' > m.c
gcc -O2 m.c -o m && ./m; code=$?; rm m; exit $code
"""
TAR = """
mkdir d; for i in 1 2 3 4 5; do seq $i > d/$i; done
tar --sort=name --mtime=@0 -czf x.tgz d; tar tzf x.tgz; mkdir e; tar xzf x.tgz -C e; diff -r d e/d; rm x.tgz
seq 50000 | sort -R --random-source=/dev/zero | sort -n -S 1M -T . | md5sum
"""
PERL = """
perl -e 'open F, ">f"; print F "a\\n" x 1000; close F; open F, "f"; @l = <F>; print scalar(@l), "\\n", `echo sub`;
open P, "|cat"; print P "piped\\n"; close P; exit 5'
"""
SCRIPTS = {"bash": BASH, "git": GIT, "gcc": GCC, "tar": TAR, "perl": PERL}


def _run(here: Path, words: list[str], env: dict[str, str]) -> tuple[Done, dict[str, bytes]]:
    here.mkdir()
    done = call(words, here, env=env, check=False)
    return done, {str(f.relative_to(here)): f.read_bytes() for f in here.rglob("*") if f.is_file()}


@pytest.mark.parametrize(
    "name",
    [pytest.param(n, marks=() if n in ("python", "bash", "git") else pytest.mark.full) for n in ("python", *SCRIPTS)],
)
def test_same_as_without(tmp_path: Path, name: str) -> None:
    words = [need("python3"), "-c", PYTHON] if name == "python" else [need("bash"), "-c", SCRIPTS[name]]
    for tool in () if name in ("python", "bash") else (name,):
        need(tool)
    local = tmp_path / "local"
    local.mkdir()
    env = {"VT_IOTRACE": "yes", "VT_VERBOSE": "0", "VT_MAX_FLUSHES": "0", "VT_FILE_PREFIX": "local"}
    env |= {"VT_PFORM_GDIR": str(local), "VT_PFORM_LDIR": str(local)}
    plain, files = _run(tmp_path / "plain", words, {})
    traced, same = _run(tmp_path / "traced", ["env", f"LD_PRELOAD={PRELOAD}", *words], env)
    assert plain.returncode == {"python": 5, "bash": 4, "gcc": 7, "perl": 5}.get(name, 0), str(plain)
    assert (traced.returncode, traced.stdout) == (plain.returncode, plain.stdout)
    assert traced.stderr == plain.stderr
    assert same == files
    unify(local, "local")
    trace = check(local / "local.trace", complete=False)
    assert any(io_calls(trace, location) for location in trace.locations)


def test_asan_program(tmp_path: Path) -> None:
    """ASan wants to be first; its option, which the documentation names, lets it work behind the shim."""
    (tmp_path / "a.c").write_text('#include <stdio.h>\nint main(void) { puts("fine"); return 3; }\n')
    call([need("gcc"), "-fsanitize=address", "a.c", "-o", "a"], tmp_path)
    words = ["env", f"LD_PRELOAD={PRELOAD}", "VT_IOTRACE=yes", "./a"]
    refused = call(words, tmp_path, check=False)
    assert "ASan runtime does not come first" in refused.stderr
    done = call(words, tmp_path, env={"ASAN_OPTIONS": "verify_asan_link_order=0"}, check=False)
    assert (done.returncode, done.stdout) == (3, "fine\n"), str(done)
    unify(tmp_path, "a")
    assert "puts w:stdout:5:5" in io_calls(check(tmp_path / "a.trace"))
