# SPDX-License-Identifier: BSD-3-Clause
"""Inputs for real programs, with the same output and files in each run."""

PYTHON = """
import multiprocessing, os, shutil, socket, sqlite3, subprocess, threading, zlib
import numpy
print(subprocess.run(["echo", "hi"], capture_output=True, text=True).stdout)
print(len(subprocess.run(["cat"], input=b"x" * 100000, capture_output=True).stdout))
with multiprocessing.Pool(2) as pool: print(pool.map(abs, range(-5, 0)))
data = sqlite3.connect("t.db")
data.execute("create table t(a)")
data.executemany("insert into t values(?)", [(i,) for i in range(1000)])
data.commit()
print(data.execute("select sum(a) from t").fetchone(), zlib.crc32(bytes(10**6)))
data.close()
a = numpy.arange(40000.0).reshape(200, 200)
a.tofile("a")
print(numpy.fromfile("a").sum(), (a @ a).trace())
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
for i in 1 2 3; do seq $((i * 100)) > f$i; git add f$i; git commit -qm m$i; done
git log --stat; cd ..; git clone -q r s && cd s && git fsck && git gc -q && git rev-parse HEAD && cat f3 | md5sum
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
seq 5000 | sort -R --random-source=/dev/zero | sort -n -S 1M -T . | md5sum
"""
PERL = """
perl -e 'open F, ">f"; print F "a\\n" x 1000; close F; open F, "f"; @l = <F>; print scalar(@l), "\\n", `echo sub`;
open P, "|cat"; print P "piped\\n"; close P; exit 5'
"""
SQLITE = """
sqlite3 x.db "create table t(a); with recursive c(x) as (select 1 union all select x + 1 from c where x < 2000)
insert into t select x from c; create index i on t(a); vacuum; pragma integrity_check; select sum(a) from t"
"""
SCRIPTS = {"bash": BASH, "git": GIT, "gcc": GCC, "tar": TAR, "perl": PERL, "sqlite3": SQLITE}
