# SPDX-License-Identifier: BSD-3-Clause
"""A Python program that starts itself with another environment. Argument: the way; "child": calls a function."""

import multiprocessing
import os
import subprocess
import sys


def child():
    pass


def run():
    for _ in range(100):
        child()
    print("child", flush=True)


def main(way):
    me = [sys.executable, __file__, "child"]
    if way == "child":
        run()
    elif way == "empty":
        subprocess.run(me, env={}, check=True)
    elif way == "own path":
        subprocess.run(me, env={**os.environ, "PYTHONPATH": "/tmp"}, check=True)
    elif way == "execve":
        os.execve(sys.executable, me, {})
    elif way == "shell":
        subprocess.run(" ".join(me), shell=True, env={}, check=True)
    elif way == "posix_spawn":
        os.waitpid(os.posix_spawn(sys.executable, me, {}), 0)
    elif way in ("spawn", "forkserver", "fork"):
        os.environ.clear()
        process = multiprocessing.get_context(way).Process(target=run)
        process.start()
        process.join()
        print(process.exitcode)
    elif way.startswith("-"):
        subprocess.run([me[0], way, *me[1:]], check=True)


if __name__ == "__main__":
    main(sys.argv[1])
