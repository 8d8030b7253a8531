#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What two mounts of one volume see of each other: coherence.py SUBJECT DIR-A DIR-B. Prints what is wrong; nothing if all is right."""
import fcntl
import os
import sqlite3
import struct
import sys
import time


def beside(a, b, jobs):
    """Runs jobs(dir, name) in a process per mount and waits for both."""
    pids = []
    for who, top in (("a", a), ("b", b)):
        pid = os.fork()
        if pid == 0:
            status = 1
            try:
                jobs(top, who)
                status = 0
            finally:
                os._exit(status)
        pids.append(pid)
    for pid in pids:
        if os.waitpid(pid, 0)[1] != 0:
            print("a process failed")


def read(path):
    with open(path, "rb") as f:
        return f.read()


def make(path, data=b""):
    with open(path, "wb") as f:
        f.write(data)


def locked(lock, rounds, log=True):
    """A counter and a log, changed under one lock that is on the counter."""

    def run(a, b):
        make(a + "/counter", b"%08d" % 0)
        make(a + "/log")

        def count(top, who):
            f = os.open(top + "/counter", os.O_RDWR)
            g = os.open(top + "/log", os.O_RDWR)
            for i in range(rounds):
                lock(f, fcntl.LOCK_EX)
                os.pwrite(f, b"%08d" % (int(os.pread(f, 8, 0)) + 1), 0)
                if log:
                    os.lseek(g, 0, os.SEEK_END)
                    os.write(g, ("%s%06d" % (who, i)).ljust(15).encode() + b"\n")
                lock(f, fcntl.LOCK_UN)

        beside(a, b, count)
        for top in (a, b):
            f = os.open(top + "/counter", os.O_RDWR)
            g = os.open(top + "/log", os.O_RDWR)
            lock(f, fcntl.LOCK_EX)
            if int(os.pread(f, 8, 0)) != 2 * rounds:
                print("the counter is", os.pread(f, 8, 0))
            if log and len(set(os.pread(g, 1 << 20, 0).split(b"\n"))) != 2 * rounds + 1:
                print("records of the log are lost")
            os.close(f)
            os.close(g)

    return run


def opened(a, b):
    """A lock file beside the data, which is opened under the lock only."""
    make(a + "/lockfile")
    make(a + "/data", b"0\n")

    def count(top, who):
        f = os.open(top + "/lockfile", os.O_RDWR)
        for _ in range(50):
            fcntl.flock(f, fcntl.LOCK_EX)
            n = int(read(top + "/data"))
            make(top + "/data", b"%d\n" % (n + 1))
            fcntl.flock(f, fcntl.LOCK_UN)

    beside(a, b, count)
    f = os.open(a + "/lockfile", os.O_RDWR)
    fcntl.flock(f, fcntl.LOCK_EX)
    if int(read(a + "/data")) != 100:
        print("the counter is", read(a + "/data"))
    os.close(f)


def followed(a, b):
    """B reads on at the end of a file that A appends to: late perhaps, but never what was not written."""
    make(a + "/tail")
    f = os.open(a + "/tail", os.O_WRONLY | os.O_APPEND)
    g = os.open(b + "/tail", os.O_RDONLY)
    seen, written = b"", b""
    for i in range(60):
        line = b"%06d\n" % i
        os.write(f, line)
        written += line
        os.fstat(g)
        os.pread(g, 4096, 0)
        seen += os.read(g, 4096)
        if not written.startswith(seen):
            print("read what was not written:", seen[-20:])
            break
        time.sleep(0.03)
    time.sleep(1.2)
    os.fstat(g)
    seen += os.read(g, 4096)
    if seen != written:
        print("the end was not seen:", seen[-20:])


def ofd_lock(f, how):
    kind = fcntl.F_UNLCK if how == fcntl.LOCK_UN else fcntl.F_WRLCK
    fcntl.fcntl(f, 38, struct.pack("hhqqi4x", kind, 0, 0, 0, 0))  # F_OFD_SETLKW


def database(a, b):
    c = sqlite3.connect(a + "/db")
    c.execute("create table t(who text, i int)")
    c.commit()
    c.close()

    def insert(top, who):
        c = sqlite3.connect(top + "/db", timeout=60, isolation_level=None)
        for i in range(15):
            c.execute("begin immediate")
            c.execute("insert into t values(?,?)", (who, i))
            c.execute("commit")

    beside(a, b, insert)
    c = sqlite3.connect(b + "/db")
    if c.execute("pragma integrity_check").fetchall() != [("ok",)]:
        print("the database is damaged")
    if c.execute("select who, count(*) from t group by who order by who").fetchall() != [("a", 15), ("b", 15)]:
        print("rows are lost:", c.execute("select who, count(*) from t group by who").fetchall())


def appended(a, b):
    make(a + "/records")

    def append(top, who):
        f = os.open(top + "/records", os.O_RDWR | os.O_APPEND)
        for i in range(300):
            os.write(f, ("%s%05d" % (who, i)).ljust(99, who).encode() + b"\n")
            if i % 10 == 0:
                os.pread(f, 1 << 20, 0)

    beside(a, b, append)
    time.sleep(1.2)
    views = [read(top + "/records") for top in (a, b)]
    if views[0] != views[1]:
        print("the mounts see different bytes")
    lines = views[0].split(b"\n")[:-1]
    if len(lines) != 600 or any(len(line) != 99 or len(set(line[6:])) != 1 for line in lines):
        print("records are cut")


def own_changes(a, b):
    """B writes, then A changes something of the file itself: the next open of A must see B's bytes."""
    changes = {
        "write": lambda p, f: os.pwrite(f, b"a", 8000),
        "chmod": lambda p, f: os.chmod(p, 0o600),
        "rename": lambda p, f: (os.rename(p, p + ".new"), os.rename(p + ".new", p)),
        "link": lambda p, f: os.link(p, p + ".link"),
        "setxattr": lambda p, f: os.setxattr(p, "user.x", b"1"),
        "truncate": lambda p, f: os.truncate(p, 9000),
    }
    files = {}
    for name in changes:
        make(a + "/own-" + name, b"A" * 8192)
        files[name] = os.open(a + "/own-" + name, os.O_RDWR)
        os.pread(files[name], 8192, 0)
    time.sleep(1.2)
    for name, change in changes.items():
        f = os.open(b + "/own-" + name, os.O_RDWR)
        os.pwrite(f, b"B" * 4096, 0)
        os.close(f)
        change(a + "/own-" + name, files[name])
    time.sleep(1.2)
    for name in changes:
        if read(a + "/own-" + name)[:4096] != b"B" * 4096:
            print("hidden by a", name)
        if os.pread(files[name], 4096, 0) != b"B" * 4096:
            print("hidden by a", name, "in the open file")


def reopened(a, b):
    """A file closed by one and opened by the other a second later, of the same size and of another."""
    make(a + "/re", b"1111\n")
    for data in (b"2222\n", b"33333333\n", b"4\n"):
        read(b + "/re")
        make(a + "/re", data)
        time.sleep(1.2)
        if read(b + "/re") != data:
            print("not seen:", data, "but", read(b + "/re"))


def at_once(a, b):
    """A file closed by one and opened by the other right after, of the same size and of another; B has it cached each time."""
    for name, size in (("same", lambda i: 6000), ("other", lambda i: 5000 + 37 * (i * 7 % 11))):
        for i in range(30):
            data = (b"%04d" % i) * (size(i) // 4)
            make(a + "/" + name, data)
            f = os.open(b + "/" + name, os.O_RDONLY)
            seen, length = os.read(f, 1 << 16), os.fstat(f).st_size
            os.close(f)
            if seen != data or length != len(data):
                print(name, "in round", i, "is", seen[:4], "of", len(seen), "and has", length, "of", len(data))
        f = os.open(a + "/" + name, os.O_WRONLY | os.O_APPEND)
        os.write(f, b"end")
        os.close(f)
        f = os.open(b + "/" + name, os.O_WRONLY)
        if os.lseek(f, 0, os.SEEK_END) != len(data) + 3:
            print("the end of", name, "is not seen by who only writes")
        os.close(f)


SUBJECTS = {
    "fcntl": locked(fcntl.lockf, 200),
    "flock": locked(fcntl.flock, 50),
    "ofd": locked(ofd_lock, 50),
    "writeback": locked(fcntl.lockf, 50, log=False),
    "opened": opened,
    "tail": followed,
    "sqlite": database,
    "append": appended,
    "own": own_changes,
    "reopen": reopened,
    "atonce": at_once,
}

SUBJECTS[sys.argv[1]](sys.argv[2], sys.argv[3])
