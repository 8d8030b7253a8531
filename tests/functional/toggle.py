# SPDX-License-Identifier: Apache-2.0
"""A writer that knows what every byte must be: toggle.py DIRECTORY STOP SEED COPY...

Until the file STOP exists it writes a few files in DIRECTORY through two descriptors of each, synced and not, appends, cuts, closes,
renames one over another, and reads through descriptors, a mapping and names. Everything it is told must be what it wrote. After an
fsync the file is as it should be in most of the COPY directories (the bricks). The number of operations goes to standard output.
"""
import hashlib
import mmap
import os
import random
import sys

FILES, ROOM = 4, 1 << 18
top, stop, seed, copies = sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4:]
rng = random.Random(seed)


def wrong(what, *args):
    sys.exit("wrong: " + what % args)


class File:
    def __init__(self, number):
        self.name = "w%d" % number
        self.path = os.path.join(top, self.name)
        self.data = bytearray()
        self.fds = []
        self.reopen(os.O_CREAT)

    def reopen(self, flags=0):
        for fd in self.fds:
            os.close(fd)
        self.fds = [os.open(self.path, os.O_RDWR | flags, 0o644), os.open(self.path, os.O_RDWR)]

    def fd(self):
        return rng.choice(self.fds)

    def write(self):
        at, n = rng.randrange(ROOM), rng.choice((1, 100, 512, 4096, 4096, 8192, 40000))
        if rng.random() < 0.5:
            at = len(self.data) if rng.random() < 0.5 and len(self.data) < ROOM else at // 4096 * 4096
        block = rng.randbytes(min(n, 64)) * (n // 64 + 1)
        block = block[:n]
        if os.pwrite(self.fd(), block, at) != n:
            wrong("%s: a short write", self.name)
        if len(self.data) < at:
            self.data += bytes(at - len(self.data))
        self.data[at:at + n] = block

    def append(self):
        block = rng.randbytes(rng.randrange(1, 3000))
        if len(self.data) > ROOM:
            return
        fd = os.open(self.path, os.O_WRONLY | os.O_APPEND)
        os.write(fd, block)
        os.close(fd)
        self.data += block

    def cut(self):
        n = rng.randrange(ROOM)
        os.ftruncate(self.fd(), n)
        self.data = self.data[:n] + bytes(max(0, n - len(self.data)))

    def compare(self, got, at, n, how):
        want = self.data[at:at + n]
        if got != want:
            bad = next((i for i, (a, b) in enumerate(zip(got, want)) if a != b), min(len(got), len(want)))
            wrong("%s by %s: byte %d of %d at %d (%d bytes of %d)", self.name, how, at + bad, len(self.data), at, len(got), len(want))

    def read(self):
        at, n = rng.randrange(ROOM), rng.choice((1, 512, 4096, 100000))
        if rng.random() < 0.3:
            os.posix_fadvise(self.fds[0], 0, 0, os.POSIX_FADV_DONTNEED)
        self.compare(os.pread(self.fd(), n, at), at, n, "descriptor")

    def map(self):
        if not self.data:
            return
        with mmap.mmap(self.fds[1], len(self.data), mmap.MAP_SHARED, mmap.PROT_READ) as m:
            at, n = rng.randrange(len(self.data)), 5000
            self.compare(m[at:at + n], at, n, "mapping")

    def size(self):
        for size in os.fstat(self.fd()).st_size, os.stat(self.path).st_size, os.lseek(self.fd(), 0, os.SEEK_END):
            if size != len(self.data):
                wrong("%s has %d bytes, not %d", self.name, size, len(self.data))

    def sync(self):
        os.fsync(self.fd())
        want = hashlib.sha256(self.data).digest()
        have = 0
        for copy in copies:
            with open(os.path.join(copy, self.name), "rb") as f:
                have += hashlib.sha256(f.read()).digest() == want
        if 2 * have <= len(copies):
            wrong("%s is on %d of %d bricks after an fsync", self.name, have, len(copies))

    def replace(self):
        """By another of the same name, as programs save files."""
        new = self.path + ".new"
        if os.path.exists(new):
            wrong("%s is there before it is made", new)
        self.data = bytearray(rng.randbytes(rng.randrange(1, 20000)))
        fd = os.open(new, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o644)
        os.write(fd, self.data)
        os.close(fd)
        if not os.path.exists(new):
            wrong("%s was made and is not there", new)
        os.rename(new, self.path)
        if os.path.exists(new):
            wrong("%s was renamed and is there", new)
        self.reopen()

    def whole(self):
        with open(self.path, "rb") as f:
            self.compare(f.read(), 0, len(self.data) + 1, "name")


def main():
    files, n = [File(i) for i in range(FILES)], 0
    what = [(File.write, 40), (File.read, 25), (File.size, 15), (File.append, 6), (File.map, 6), (File.sync, 4), (File.cut, 2),
            (File.reopen, 2), (File.whole, 2), (File.replace, 1)]
    fns, weights = [w[0] for w in what], [w[1] for w in what]
    while not os.path.exists(stop):
        for fn in rng.choices(fns, weights, k=10):
            fn(rng.choice(files))
            n += 1
    for f in files:
        f.sync()
        f.whole()
    print(n)


main()
