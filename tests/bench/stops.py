#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Notes when the machine stood still.

stops.py FILE DIRECTORY

On every processor a process that nothing in the machine may keep from running (SCHED_FIFO) sleeps 2 ms at a time. If it wakes 3 ms too
late, the processor was not there: the host of a virtual machine had it do something else. One of them also looks at the disk of
DIRECTORY. If that has one to four requests, which are 4 MiB each at most, and ends none of them for 10 ms, it was not there either;
with more it may be their number. Until SIGTERM; then FILE has a line for each stop: its beginning and its end, in seconds of the epoch.
"""
import gc
import os
import signal
import sys
import time

SLEEP = 0.002
LATE = 0.003
DISK_LATE = 0.010
FEW = 4


class Disk:
    def __init__(self, where):
        device = os.stat(where).st_dev
        self.stat = os.open(f"/sys/dev/block/{os.major(device)}:{os.minor(device)}/stat", os.O_RDONLY)
        self.ended, self.since, self.few = None, 0, False

    def look(self, stops):
        n = os.pread(self.stat, 512, 0).split()
        now, ended, under_way = time.time(), [n[i] for i in (0, 4, 11, 15)], int(n[8])
        if ended == self.ended and under_way:
            return
        if self.few and now - self.since > DISK_LATE:
            stops.append(f"{self.since:.6f} {now:.6f}\n")
        self.ended, self.since, self.few = ended, now, under_way <= FEW


def watch(cpu, out, disk):
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
        if disk:
            disk.look(stops)
    os.write(out, "".join(stops).encode())
    os._exit(0)


def main():
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # until the children are told
    out = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND, 0o644)
    children, disk = [], Disk(sys.argv[2])
    for cpu in os.sched_getaffinity(0):
        pid = os.fork()
        if pid == 0:
            watch(cpu, out, disk)
        children.append(pid)
        disk = None

    def stop(*_):
        for pid in children:
            os.kill(pid, signal.SIGTERM)

    signal.signal(signal.SIGTERM, stop)
    for pid in children:
        os.waitpid(pid, 0)


main()
