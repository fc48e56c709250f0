# SPDX-License-Identifier: BSD-3-Clause
"""Nodes as namespaces of Linux. A node has its own network, host name, process ids, IPC, mounts and monotonic clock.

The front is the node that users log in to: the launchers run there. The front has the machine's process ids and clock,
because only a process with these ids may enter another node. The front's bridge connects the nodes. No address and no
mount is visible outside of the namespaces, and all of them end with the process that made them.
"""

from __future__ import annotations

import shlex
import subprocess
import time
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

from support.tools import Done, call, need, unavailable

DISK = Path("/mnt")
"""The mount point of each node's own disk, a tmpfs."""
_NETWORK = "10.77.0"
_NAMESPACES = ("--net", "--uts", "--ipc", "--mount")
AHEAD = 10_000
"""The monotonic clock of node K is K times this number of seconds ahead of the front's clock."""


class Node:
    """A node that runs. name is the node's host name."""

    def __init__(self, name: str, process: subprocess.Popen[bytes], pid: int) -> None:
        self.name, self._process, self.pid = name, process, pid

    def enter(self, cwd: Path, *words: str | Path) -> list[str]:
        """The words that run a command on this node. cwd: a directory of the node."""
        inside = ["sh", "-c", 'cd "$0" && exec "$@"', cwd, *words]
        # A node without its own process ids needs no process in between, which would not pass signals on.
        fork = ["--no-fork"] if self.pid == self._process.pid else []
        return [need("nsenter"), *fork, "-a", "-t", str(self.pid), *map(str, inside)]

    def call(self, cwd: Path, *words: str | Path, env: Mapping[str, str] | None = None, check: bool = True) -> Done:
        """Runs a command on this node."""
        return call(self.enter(cwd, *words), Path("/"), env, check=check, timeout=60)

    def kill_programs(self) -> None:
        """Kills all processes of a node but the first, as a scheduler does at the end of a job."""
        self.call(Path("/"), "sh", "-c", "kill -KILL -1", check=False)  # there may be none

    def path(self, path: Path) -> Path:
        """The path by which the machine sees a path of this node."""
        return Path(f"/proc/{self.pid}/root{path}")

    def kill(self) -> None:
        """Kills all processes of the node. Its disk and its network go with them."""
        self._process.kill()

    def wait(self) -> None:
        """Waits until the processes have ended."""
        self._process.wait()
        while Path(f"/proc/{self.pid}").exists():
            time.sleep(0.01)


class Cluster:
    """A front and the nodes node1, node2, ..."""

    def __init__(self, place: Path, shared: Path, count: int, disk: str = "64m") -> None:
        """place: a new directory for the files of the cluster, below shared; shared: a directory that all nodes see,
        under one path; disk: the size of each node's disk."""
        reason = _refused()
        if reason:
            unavailable(f"nodes need namespaces, and unshare says: {reason}")
        self.place, self._shared, self._disk = place, shared, disk
        place.mkdir()
        names = ["front", *(f"node{number}" for number in range(1, count + 1))]
        lines = ["127.0.0.1 localhost", *(f"{_NETWORK}.{number} {name}" for number, name in enumerate(names, 1))]
        (place / "hosts").write_text("\n".join(lines) + "\n")
        self.ssh = place / "ssh"
        self.ssh.write_text(_SSH.format(nsenter=need("nsenter"), place=place))
        self.ssh.chmod(0o755)
        self.front = self._start("front", _NAMESPACES)
        self._ip(self.front, "link add br0 type bridge", f"addr add {_NETWORK}.1/24 dev br0", "link set br0 up")
        self.nodes = [self._join(number, name) for number, name in enumerate(names[1:], 1)]

    def _start(self, name: str, namespaces: Sequence[str]) -> Node:
        """Starts the first process of a node, and waits until the node is ready."""
        begin = _BEGIN.format(name=name, shared=self._shared, place=self.place, disk=DISK, size=self._disk)
        words = [need("setpriv"), "--pdeathsig", "KILL", need("unshare"), *namespaces, "sh", "-ec", begin]
        process = subprocess.Popen(words, stdin=subprocess.DEVNULL)
        while not (self.place / f"{name}.ready").exists():
            assert process.poll() is None, f"{shlex.join(words)}: exit code {process.returncode}"
            time.sleep(0.01)
        pid = process.pid
        if "--fork" in namespaces:
            pid = int(Path(f"/proc/{pid}/task/{pid}/children").read_text())
        (self.place / f"{name}.pid").write_text(str(pid))
        node = Node(name, process, pid)
        self._ip(node, "link set lo up")
        return node

    def _join(self, number: int, name: str) -> Node:
        """Starts a node and connects the node to the bridge."""
        ahead = str(number * AHEAD)
        own = ["--pid", "--fork", "--kill-child", "--mount-proc", "--time", "--monotonic", ahead, "--boottime", ahead]
        node = self._start(name, [*_NAMESPACES, *own])
        link = f"link add {name} type veth peer name eth0 netns {node.pid}"
        self._ip(self.front, link, f"link set {name} master br0 up")
        self._ip(node, f"addr add {_NETWORK}.{number + 1}/24 dev eth0", "link set eth0 up")
        return node

    def _ip(self, node: Node, *commands: str) -> None:
        for text in commands:
            node.call(Path("/"), need("ip"), *text.split())

    def disconnect(self, node: Node) -> None:
        """Removes the link between a node and the other nodes, which then get no more data, not even the end of a
        stream."""
        self._ip(self.front, f"link del {node.name}")

    def end(self) -> None:
        for node in [*self.nodes, self.front]:
            node.kill()
        for node in [*self.nodes, self.front]:
            node.wait()


@cache
def _refused() -> str:
    """The reason why this machine allows no nodes, or an empty text."""
    words = [need("unshare"), *_NAMESPACES, "--pid", "--fork", "--mount-proc", "--time", "--monotonic", "1"]
    tried = subprocess.run([*words, need("ip"), "link", "add", "br0", "type", "bridge"], capture_output=True, text=True)
    return tried.stderr.strip() if tried.returncode else ""


# The first process of a node. The last program ignores SIGCHLD, so the kernel reaps all processes without a parent.
_BEGIN = """
hostname {name}
mount --bind '{shared}' {disk}
mount -t tmpfs -o mode=1777 tmp /tmp
mkdir -p '{shared}'
mount --move {disk} '{shared}'
mount -t tmpfs -o size={size} disk {disk}
mount -t tmpfs -o mode=1777 shm /dev/shm
mount --bind '{place}/hosts' /etc/hosts
: >'{place}/{name}.ready'
exec env --ignore-signal=CHLD sleep infinity
"""

# Like ssh, the command passes no variable of the environment on.
_SSH = """#!/bin/sh
while [ "${{1#-}}" != "$1" ]; do shift; done
host=$1
shift
exec env -i PATH="$PATH" HOME="$HOME" {nsenter} -a -t "$(cat '{place}'/"$host".pid)" sh -c "cd; $*"
"""
