# SPDX-License-Identifier: BSD-3-Clause
"""asleep.py MODE: the function fetch sleeps for 0.3 s: in time.sleep (sleep), in recv of a socket (recv), in queue.get
(alone) while a thread sleeps shorter (beat), or five times in queue.get while a thread sleeps (queue)."""

import queue
import socket
import struct
import sys
import threading
import time

channel = queue.Queue()


def produce():
    for _ in range(5):
        time.sleep(0.2)
        channel.put(1)


def beat():
    while True:
        time.sleep(0.05)


def fetch(mode):
    if mode == "sleep":
        time.sleep(0.3)
    elif mode == "recv":
        ours, theirs = socket.socketpair()
        ours.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, struct.pack("ll", 0, 300000))
        try:
            ours.recv(1)
        except BlockingIOError:
            theirs.close()
    elif mode in ("alone", "beat"):
        try:
            channel.get(timeout=0.3)
        except queue.Empty:
            return
    else:
        for _ in range(5):
            channel.get()


if sys.argv[1] == "queue":
    threading.Thread(target=produce).start()
elif sys.argv[1] == "beat":
    threading.Thread(target=beat, daemon=True).start()
fetch(sys.argv[1])
