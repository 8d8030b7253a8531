#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A virtual machine's disk: images.py FILE MIB STOP [SEED]

Two threads write pages of 4 KiB with O_DIRECT at random places of a sparse file, in pieces of up to 128 KiB, read some back, synchronise
now and then, and punch holes, until the file STOP is there. Each page tells its place and how often it was written, so whatever is read
says whether it is what was written last. In the end all is read. Prints the operations done; status 1 and what was wrong, else.
"""
import ctypes, mmap, os, random, struct, sys, threading

PAGE, MOST = 4096, 32
path, mib, stop = sys.argv[1], int(sys.argv[2]), sys.argv[3]
seed = int(sys.argv[4]) if len(sys.argv) > 4 else 1
pages = mib * 256
version = [0] * pages  # 0: zeros
libc = ctypes.CDLL(None, use_errno=True)
libc.fallocate.argtypes = [ctypes.c_int, ctypes.c_int, ctypes.c_longlong, ctypes.c_longlong]
wrong, done = [], [0, 0, 0, 0]


def content(page, n):
    return struct.pack("<QQ", page, n) * (PAGE // 16) if n else bytes(PAGE)


def check(data, first):
    for i in range(len(data) // PAGE):
        got, page = data[i * PAGE:(i + 1) * PAGE], first + i
        if got != content(page, version[page]):
            wrong.append("page %d (byte %d): written %d times, read: %s" % (page, page * PAGE, version[page], struct.unpack("<QQ", got[:16])))
            return


def use(fd, me, rng):
    buf = mmap.mmap(-1, MOST * PAGE)
    while not wrong and not os.path.exists(stop):
        n = rng.randint(1, MOST)
        first = rng.randrange(pages // 2 - n) + me * (pages // 2)  # each its half: no two at one page
        what = rng.random()
        if what < 0.6:
            for i in range(first, first + n):
                version[i] += 1
            buf[:n * PAGE] = b"".join(content(i, version[i]) for i in range(first, first + n))
            if os.pwritev(fd, [memoryview(buf)[:n * PAGE]], first * PAGE) != n * PAGE:
                wrong.append("a short write")
            done[0] += 1
        elif what < 0.93:
            got = os.preadv(fd, [memoryview(buf)[:n * PAGE]], first * PAGE)
            if got != n * PAGE:
                wrong.append("a short read of page %d: %d" % (first, got))
            check(buf[:got], first)
            done[1] += 1
        elif what < 0.97:
            os.fsync(fd)
            done[2] += 1
        else:
            if libc.fallocate(fd, 3, first * PAGE, n * PAGE):  # a hole
                wrong.append("no hole: " + os.strerror(ctypes.get_errno()))
            version[first:first + n] = [0] * n
            done[3] += 1


def guarded(*args):
    try:
        use(*args)
    except OSError as e:
        wrong.append(str(e))


fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_DIRECT, 0o600)
os.ftruncate(fd, pages * PAGE)
threads = [threading.Thread(target=guarded, args=(fd, i, random.Random(seed * 2 + i))) for i in range(2)]
[t.start() for t in threads]
[t.join() for t in threads]
os.fsync(fd)
os.close(fd)
if not wrong:
    if os.stat(path).st_size != pages * PAGE:
        wrong.append("its size is %d" % os.stat(path).st_size)
    with open(path, "rb", buffering=0) as f:
        for page in range(0, pages, 256):
            check(f.read(256 * PAGE), page)
print("%d writes, %d reads, %d syncs, %d holes" % tuple(done))
for w in wrong[:10]:
    print("WRONG:", w)
sys.exit(bool(wrong))
