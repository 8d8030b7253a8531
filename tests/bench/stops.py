#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Notes when the machine stood still.

stops.py FILE

On every processor a process that nothing in the machine may keep from running (SCHED_FIFO) sleeps 2 ms at a time. If it wakes 3 ms too
late, the processor was not there: the host of a virtual machine had it do something else. Until SIGTERM; then FILE has a line for each
stop: its beginning and its end, in seconds of the epoch.
"""
import gc
import os
import signal
import sys
import time

SLEEP = 0.002
LATE = 0.003


def watch(cpu, out):
    os.sched_setaffinity(0, {cpu})
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(50))
    gc.disable()
    stops, running = [], True

    def stop(*_):
        nonlocal running
        running = False

    signal.signal(signal.SIGTERM, stop)
    while running:
        due = time.time() + SLEEP
        time.sleep(SLEEP)
        now = time.time()
        if now - due > LATE:
            stops.append(f"{due:.6f} {now:.6f}\n")
    os.write(out, "".join(stops).encode())
    os._exit(0)


def main():
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # until the children are told
    out = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND, 0o644)
    children = []
    for cpu in os.sched_getaffinity(0):
        pid = os.fork()
        if pid == 0:
            watch(cpu, out)
        children.append(pid)

    def stop(*_):
        for pid in children:
            os.kill(pid, signal.SIGTERM)

    signal.signal(signal.SIGTERM, stop)
    for pid in children:
        os.waitpid(pid, 0)


main()
