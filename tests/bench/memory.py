#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Keeps memory at hand that the machine has really got.

memory.py MIB

The host of a virtual machine gives a page when it is touched first, which takes several times as long as copying it, and takes back
what is free for some seconds. Who writes a file for the first time pays for that, and so does everybody else on the machine. This
takes MIB MiB, touches them, prints "held", and after a line on its input gives back as much as others use, ahead of them by 256 MiB.
In huge pages where there are any: giving back small ones took a fifth of a processor beside a heal, milliseconds at a time.
"""
import mmap
import sys
import time

CHUNK = 4 << 20
AHEAD = 256 << 20


def free_bytes():
    with open("/proc/meminfo") as f:
        return next(int(line.split()[1]) << 10 for line in f if line.startswith("MemFree:"))


def main():
    held = []
    for _ in range((int(sys.argv[1]) << 20) // CHUNK):
        held.append(mmap.mmap(-1, CHUNK, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS))
        try:
            held[-1].madvise(mmap.MADV_HUGEPAGE)
        except OSError:
            pass  # a kernel without them
        held[-1].write(b"\1" * CHUNK)
    print("held", flush=True)
    if not sys.stdin.readline():
        return
    level = free_bytes() + AHEAD
    while held:
        while held and free_bytes() < level - CHUNK:
            held.pop().close()
        time.sleep(0.01)


main()
