#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Steps on many small files: metadata.py DIRECTORY FILES STEP...; prints {"STEP_s": seconds, ...}. 100 files of 4 KiB a directory."""
import json
import os
import sys
import time

top, files, steps = sys.argv[1], int(sys.argv[2]), sys.argv[3:]
CONTENT = b"x" * 4096


def names(word):
    return (os.path.join(top, "d%03d" % (i // 100), "%s%02d" % (word, i % 100)) for i in range(files))


def put(path, flags):
    fd = os.open(path, os.O_WRONLY | flags, 0o644)
    os.write(fd, CONTENT)
    os.close(fd)


def create():
    for i in range(0, files, 100):
        os.mkdir(os.path.join(top, "d%03d" % (i // 100)))
    for path in names("f"):
        put(path, os.O_CREAT | os.O_EXCL)


def overwrite():
    for path in names("f"):
        put(path, 0)


def stat():
    for path in names("f"):
        if os.stat(path).st_size != len(CONTENT):
            sys.exit("%s has another size" % path)


def read():
    for path in names("f"):
        with open(path, "rb", buffering=0) as f:
            if f.read(len(CONTENT) + 1) != CONTENT:
                sys.exit("%s has another content" % path)


def walk():
    found = sum(len(inside) for _, _, inside in os.walk(top))
    if found != files:
        sys.exit("%d files instead of %d" % (found, files))


def rename():
    for a, b in zip(names("f"), names("g")):
        os.rename(a, b)


def unlink():
    for path in names("g"):
        os.unlink(path)


result = {}
for step in steps:
    begin = time.monotonic()
    {f.__name__: f for f in (create, overwrite, stat, read, walk, rename, unlink)}[step]()
    result[step + "_s"] = round(time.monotonic() - begin, 3)
print(json.dumps(result))
