#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A small steady application: its latency says what others cost it.

foreground.py DIR RATE [SECONDS [RAW]]

Opens DIR/foreground (64 MiB, made if needed) and does RATE operations a second, evenly spaced: 4 KiB writes and O_DIRECT
reads at random places, every tenth a write with fdatasync. An operation that is late starts at once, and its latency counts
from when it was due. Runs SECONDS (0: until SIGTERM); prints JSON: count, errors, median, p95, p99 and max in milliseconds. RAW gets
a line for every operation: when it was due (seconds of the epoch), its latency in milliseconds and what it was: w, r, or s with fdatasync.
"""
import json
import mmap
import os
import random
import signal
import sys
import time

SIZE = 64 << 20
BLOCK = 4096


def main():
    where, rate = sys.argv[1], float(sys.argv[2])
    seconds = float(sys.argv[3]) if len(sys.argv) > 3 and float(sys.argv[3]) else float("inf")
    raw = open(sys.argv[4], "w") if len(sys.argv) > 4 else None
    path = os.path.join(where, "foreground")
    if not os.path.exists(path) or os.path.getsize(path) != SIZE:
        with open(path, "wb") as f:
            for _ in range(SIZE >> 20):
                f.write(os.urandom(1 << 20))
            os.fsync(f.fileno())
    running = True

    def stop(*_):
        nonlocal running
        running = False

    signal.signal(signal.SIGTERM, stop)
    chance = random.Random(7)
    data = os.urandom(BLOCK)
    into = mmap.mmap(-1, BLOCK)  # aligned, as O_DIRECT wants it
    writer = os.open(path, os.O_WRONLY)
    reader = os.open(path, os.O_RDONLY | os.O_DIRECT)
    latencies, lines, errors, n = [], [], 0, 0
    begin = time.monotonic()
    epoch = time.time() - begin
    while running and (due := begin + n / rate) < begin + seconds:
        wait = due - time.monotonic()
        if wait > 0:
            time.sleep(wait)
            due = max(due, time.monotonic() - 0.0005)  # the sleep's own lateness is not the file system's
        offset = chance.randrange(SIZE // BLOCK) * BLOCK
        try:
            if n % 10 == 0:
                os.pwrite(writer, data, offset)
                os.fdatasync(writer)
            elif n % 2:
                os.pwrite(writer, data, offset)
            else:
                os.preadv(reader, [into], offset)
        except OSError as e:
            errors += 1
            print(e, file=sys.stderr)
        latencies.append(time.monotonic() - due)
        lines.append(f"{epoch + due:.6f} {latencies[-1] * 1000:.3f} {'s' if n % 10 == 0 else 'rw'[n % 2]}\n")
        n += 1
    if raw:
        with raw:
            raw.writelines(lines)
    latencies.sort()

    def at(q):
        return round(latencies[min(len(latencies) - 1, int(q * len(latencies)))] * 1000, 3) if latencies else None

    print(json.dumps({"count": n, "errors": errors, "median": at(0.5), "p95": at(0.95), "p99": at(0.99), "max": at(1)}))


main()
