# SPDX-License-Identifier: Apache-2.0
"""What an application is told of writes that fail when they were answered: cached-errors.py WORK [PORT [fill]]

Without a port it writes the volfiles of the brick, with "fill" it makes the files. Then it mounts one brick with each layer for speed
alone, with each two of them, and with all. The brick fails every WRITE, with another error in each of its directories. Each descriptor
that was open must be told once, and what is shown afterwards is what the brick has.
"""
import concurrent.futures
import itertools
import mmap
import os
import subprocess
import sys
import time

WORK = sys.argv[1]
FS, LANES = os.environ["GLUSTERISHFS"], 3
ERRORS = ("ENOSPC", "EDQUOT", "EIO")
# From the bottom to the top, as in volfiles.
LAYERS = ("md-cache", "write-behind", "read-ahead", "readdir-ahead", "io-cache", "open-behind", "quick-read", "nl-cache", "io-threads")
OLD = bytes(range(256)) * 40
FEW = ("two", "close", "sync")  # where nothing is answered early
FILES = ("two", "close", "fork", "next", "sync", "rename", "unlink", "map", "append", "cut", "many", "mixed")


def brick_dir(error, number):
    return "%s/brick/%s/m%d" % (WORK, error, number)


def tables():
    """Write-behind alone and all of them with every error; each one, and each two, with one of them in turn."""
    rows = [(layers, error) for layers in (("write-behind",), LAYERS) for error in ERRORS]
    few = [()] + [(layer,) for layer in LAYERS] + list(itertools.combinations(LAYERS, 2))
    return rows + [(layers, ERRORS[i % 3]) for i, layers in enumerate(few)]


def write_volfile(name, share):
    with open("%s/%s.vol" % (WORK, name), "w") as f:
        tops = []
        for e in ERRORS:
            top = "%s/brick/%s" % (WORK, e)
            os.makedirs(top, exist_ok=True)
            f.write("volume posix-%s\n type storage/posix\n option directory %s\nend-volume\n" % (e, top))
            f.write("volume error-%s\n type debug/error-gen\n option failure %d\n option error-no %s\n option enable WRITE\n"
                    " subvolumes posix-%s\nend-volume\n" % (e, share, e, e))
            f.write("volume %s\n type features/locks\n subvolumes error-%s\nend-volume\n" % (top, e))
            tops.append(top)
        f.write("volume t-server\n type protocol/server\n option transport.socket.bind-address 127.0.0.1\n subvolumes %s\nend-volume\n"
                % " ".join(tops))


def fill(port):
    for e in ERRORS:
        mnt = "%s/mnt-%s" % (WORK, e)
        os.mkdir(mnt)
        subprocess.run([FS, "-f", client_volfile(e, ("write-behind",), e, port), "-l", WORK + "/fill.log", mnt], check=True, timeout=60)
        for number, (_, error) in enumerate(tables()):
            if error == e:
                os.mkdir("%s/m%d" % (mnt, number))
                for name in FILES:
                    with open("%s/m%d/%s" % (mnt, number, name), "wb") as f:
                        f.write(OLD)
        subprocess.run(["umount", mnt], check=True)


def client_volfile(number, layers, error, port):
    path = "%s/client-%s.vol" % (WORK, number)
    with open(path, "w") as f:
        f.write("volume c-0\n type protocol/client\n option remote-host 127.0.0.1\n option remote-port %s\n"
                " option remote-subvolume %s/brick/%s\nend-volume\n" % (port, WORK, error))
        below = "c-0"
        for layer in layers:
            f.write("volume c-%s\n type performance/%s\n subvolumes %s\nend-volume\n" % (layer, layer, below))
            below = "c-" + layer
    return path


def err(fn, *args):
    """The name of the error of a call; none: ''. A write that took a part only is none."""
    try:
        fn(*args)
        return ""
    except OSError as e:
        return os.strerror(e.errno) if e.errno not in NAMES else NAMES[e.errno]


NAMES = {getattr(__import__("errno"), n): n for n in ERRORS + ("ENOTCONN", "EROFS", "EBADF", "EBADFD", "ENOENT")}


def soon(fn):
    end = time.monotonic() + 5
    while not fn():
        if time.monotonic() > end:
            return False
        time.sleep(0.005)
    return True


class Check:
    def __init__(self, top, error, early):
        self.top, self.error, self.early, self.wrong = top, error, early, []
        self.answered = 0

    def path(self, name):
        return self.top + "/" + name

    def open(self, name, flags=os.O_RDWR):
        fd = os.open(self.path(name), flags)
        os.fstat(fd)  # a file is written early whose attributes are known
        return fd

    def want(self, what, got, wanted):
        if got != wanted:
            self.wrong.append("%s: %r instead of %r" % (what, got, wanted))

    def write(self, what, fd, data, at=None):
        """True: it was answered, and others will be told. It is an error of the write itself otherwise."""
        got = err(os.write, fd, data) if at is None else err(os.pwrite, fd, data, at)
        if got == "" and self.early:
            self.answered += 1
            return True
        self.want(what + ": write", got, self.error)
        return False

    def told(self, what, early, *fds):
        for i, fd in enumerate(fds):
            self.want("%s: descriptor %d" % (what, i), err(os.fsync, fd), self.error if early else "")

    def as_before(self, what, name, fd=None):
        fd = self.open(name) if fd is None else fd
        self.want(what + ": size", soon(lambda: os.fstat(fd).st_size == len(OLD)), True)
        self.want(what + ": content", soon(lambda: os.pread(fd, len(OLD) + 9000, 0) == OLD), True)
        self.want(what + ": size by name", soon(lambda: os.stat(self.path(name)).st_size == len(OLD)), True)
        self.want(what + ": listed size", soon(lambda: [e.stat().st_size for e in os.scandir(self.top) if e.name == name] == [len(OLD)]), True)
        os.close(fd)

    # ---- what is done ----

    def two(self):
        a, b, r = self.open("two"), self.open("two"), self.open("two", os.O_RDONLY)
        os.pread(r, len(OLD), 0)
        early = self.write("two", a, b"new" * 100, 50)
        self.told("two", early, *((a, b, r) if early else (b, r)))
        late = self.open("two")
        self.want("two: one opened later", err(os.fsync, late), "")
        self.told("two, again", False, b, r)
        for fd in (a, b, r):
            self.want("two: close", err(os.close, fd), "")
        self.as_before("two", "two", late)

    def close(self):
        a, b = self.open("close"), self.open("close")
        early = self.write("close", a, b"longer" * 1000, len(OLD))
        for i, fd in enumerate((a, b)):
            self.want("close: descriptor %d" % i, err(os.close, fd), self.error if early else "")
        self.as_before("close", "close")

    def fork(self):
        """Who is forked and ends closes the descriptors, too, and looks at no error."""
        a, b = self.open("fork"), self.open("fork")
        early = self.write("fork", a, b"x" * 100, 20)
        subprocess.run(["true"])
        self.told("fork", early, a, b)
        early = self.write("fork, again", b, b"x" * 100, 20)
        subprocess.run(["true"], close_fds=False)
        for i, fd in enumerate((a, b)):
            self.want("fork: close %d" % i, err(os.close, fd), self.error if early else "")
        self.as_before("fork", "fork")

    def next(self):
        a, b = self.open("next"), self.open("next")
        if self.write("next", a, b"x" * 4096, 0):
            self.told("next", True, b)
            self.want("next: the next write", err(os.pwrite, a, b"y", 0), self.error)
        os.close(b)
        err(os.close, a)
        self.as_before("next", "next")

    def sync(self):
        a = self.open("sync", os.O_RDWR | os.O_SYNC)
        self.want("sync", err(os.pwrite, a, b"x" * 10, 3), self.error)
        os.close(a)
        self.as_before("sync", "sync")

    def rename(self):
        a = self.open("rename")
        early = self.write("rename", a, b"x" * 10, 3)
        os.rename(self.path("rename"), self.path("renamed"))
        self.told("rename", early, a)
        os.close(a)
        self.as_before("rename", "renamed")

    def unlink(self):
        a, b = self.open("unlink"), self.open("unlink")
        early = self.write("unlink", a, b"x" * 10, 3)
        os.unlink(self.path("unlink"))
        self.told("unlink", early, a, b)
        os.close(a)
        os.close(b)

    def map(self):
        a = self.open("map")
        with mmap.mmap(a, len(OLD)) as m:
            m[0:5] = b"hello"
            self.want("map: an error", err(m.flush) != "" or err(os.fsync, a) != "", True)
        err(os.close, a)

    def append(self):
        a, b = self.open("append", os.O_WRONLY | os.O_APPEND), self.open("append")
        early = self.write("append", a, b"x" * 700)
        self.told("append", early, *((b, a) if early else (b,)))
        os.close(a)
        os.close(b)
        self.as_before("append", "append")

    def cut(self):
        a, b = self.open("cut"), self.open("cut")
        early = self.write("cut", a, b"x" * 700, len(OLD))
        os.ftruncate(b, len(OLD))
        self.told("cut", early, a, b)
        os.close(a)
        os.close(b)
        self.as_before("cut", "cut")

    def many(self):
        a, b = self.open("many"), self.open("many")
        early = False
        for i in range(40):
            got = err(os.pwrite, a, b"z" * 8192, i * 8192)
            if got:
                self.want("many: write", got, self.error)
                break
            early = True
        self.want("many: answered though nothing was early", early and not self.early, False)
        self.told("many", early, b)
        err(os.close, a)
        self.want("many: close", err(os.close, b), "")
        self.as_before("many", "many")

    def mixed(self):
        """What is done in between does not take the error away."""
        a, b = self.open("mixed"), self.open("mixed")
        os.pread(b, 100, 0)
        early = self.write("mixed", a, b"x" * 100, 20)
        os.fstat(b)
        os.pread(b, 500, 0)
        os.stat(self.path("mixed"))
        os.chmod(self.path("mixed"), 0o600)
        os.listdir(self.top)
        os.lseek(b, 0, os.SEEK_END)
        os.setxattr(self.path("mixed"), "user.x", b"1")
        os.close(self.open("mixed", os.O_RDONLY))
        self.told("mixed", early, a, b)
        os.close(a)
        os.close(b)
        self.as_before("mixed", "mixed")


def one(number, layers, error, port):
    mnt = "%s/mnt-%d" % (WORK, number)
    os.mkdir(mnt)
    volfile = client_volfile(number, layers, error, port)
    out = subprocess.run([FS, "-f", volfile, "-l", "%s/mount-%d.log" % (WORK, number), "--attribute-timeout=0", mnt], capture_output=True, text=True, timeout=60)
    if out.returncode:
        return 0, ["%s: no mount: %s" % ("+".join(layers), out.stderr)]
    c = Check("%s/m%d" % (mnt, number), error, "write-behind" in layers)
    try:
        for name in FILES if c.early else FEW:
            getattr(c, name)()
    except Exception as e:  # a check that cannot go on is wrong as well
        c.wrong.append("%s: %r" % (name, e))
    finally:
        subprocess.run(["umount", "-l", mnt])
    for name in FILES:
        path = brick_dir(error, number) + "/" + ("renamed" if name == "rename" else name)
        if os.path.exists(path) and open(path, "rb").read() != OLD:
            c.wrong.append("%s: the brick has something else" % name)
    return c.answered, ["%s, %s: %s" % ("+".join(layers) or "no layer", error, w) for w in c.wrong]


def main():
    if len(sys.argv) == 2:
        write_volfile("fill", 0)
        write_volfile("brick", 100)
        return
    if sys.argv[3:]:
        fill(sys.argv[2])
        return
    rows, answered, wrong = tables(), 0, []
    with concurrent.futures.ThreadPoolExecutor(LANES) as pool:
        for n, w in pool.map(lambda row: one(row[0], row[1][0], row[1][1], sys.argv[2]), enumerate(rows)):
            answered += n
            wrong += w
    for w in wrong:
        print("wrong:", w)
    print("%d mounts, %d writes answered and lost" % (len(rows), answered))


main()
