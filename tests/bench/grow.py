# SPDX-License-Identifier: Apache-2.0
"""A tree that is constantly renamed, against a model in memory.

    grow.py DIRECTORY SEED STOP [MEMBERS [-KIND…]]

Files and directories are made, renamed (over others too), written, read, listed and removed until the file STOP exists; then everything is compared
once more. Each answer must be what the model says: a listing shows each name once and none that is not there, a file has its bytes, what is gone is
gone. Status 0: so it was. -KIND leaves a kind of operation out: -rename, -replace, -rename_dir, -make …. The same seed does the same operations, up to when it is stopped.

With GROW_MOUNTS=FILE the mount may be killed and made anew, each of which changes what is in the file ("-": there is none): what was answered before holds,
and the operation that was under way is done or not done.

With GROW_DOUBLED set, a file that is longer than it should be is read again two seconds later: a client of GlusterFS shows one that it has written to while it
moves at twice its size for a moment.
"""
import errno
import os
import random
import stat
import sys
import time
import zlib

top, seed, stop = sys.argv[1], int(sys.argv[2]), sys.argv[3]
members = int(sys.argv[4]) if len(sys.argv) > 4 else 60
rnd = random.Random(seed)
counter = os.environ.get("GROW_MOUNTS")
tree = {}  # path below top -> bytes of a file, or None: a directory
doubt = None  # how to find out whether what is under way was done; None: it changes nothing
last = []
serial = 0

def fail(what):
    sys.stderr.write("\n".join(["seed %d: %s" % (seed, what), "before that:"] + last[-12:]) + "\n")
    sys.exit(1)

def full(path):
    return top + "/" + path if path else top

def dirs():
    return [""] + sorted(p for p, v in tree.items() if v is None)

def files():
    return sorted(p for p, v in tree.items() if v is not None)

def fresh(directory, kind):
    global serial
    serial += 1
    return (directory + "/" if directory else "") + "%s%d" % (kind, serial)

def some_bytes():
    return rnd.randbytes(rnd.choice([0, 1, 100, 4096, 20000, 150000]))

def op_make():
    global doubt
    path, data = fresh(rnd.choice(dirs()), "f"), some_bytes()
    last.append("make %s, %d bytes" % (path, len(data)))
    doubt = one_of(path, False, *{data[:n] for n in range(0, len(data) + 1, 4096)}, data)
    fd = os.open(full(path), os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
    os.write(fd, data)
    os.close(fd)
    tree[path] = data
    doubt = None

def op_mkdir():
    global doubt
    path = fresh(rnd.choice([d for d in dirs() if d.count("/") < 3]), "d")
    last.append("mkdir " + path)
    doubt = one_of(path, False, None)
    os.mkdir(full(path))
    tree[path] = None
    doubt = None

def op_rename():
    global doubt
    src = rnd.choice(files())
    dst = fresh(rnd.choice(dirs()), "r")
    last.append("rename %s %s" % (src, dst))
    doubt = moved_or_not(src, dst)
    os.rename(full(src), full(dst))
    tree[dst] = tree.pop(src)
    doubt = None
    gone(src)

def op_replace():
    global doubt
    if len(files()) < 2:
        return
    src, dst = rnd.sample(files(), 2)
    last.append("replace %s by %s" % (dst, src))
    doubt = moved_or_not(src, dst)
    os.rename(full(src), full(dst))
    tree[dst] = tree.pop(src)
    doubt = None
    gone(src)
    op_read(dst)

def op_rename_dir():
    global doubt
    all_dirs = dirs()[1:]
    src = rnd.choice(all_dirs)
    into = [d for d in dirs() if not (d + "/").startswith(src + "/") and d.count("/") < 3]
    dst = fresh(rnd.choice(into), "e")
    last.append("rename the directory %s %s" % (src, dst))
    doubt = moved_or_not(src, dst)
    os.rename(full(src), full(dst))
    for p in sorted(tree):
        if p == src or p.startswith(src + "/"):
            tree[dst + p[len(src):]] = tree.pop(p)

def op_write():
    global doubt
    path, piece = rnd.choice(files()), rnd.randbytes(rnd.choice([1, 500, 8192]))
    data = tree[path]
    at = rnd.randrange(len(data) + 1)
    last.append("write %s, %d bytes at %d" % (path, len(piece), at))
    # The kernel may hand it over in several pieces, which end where pages do.
    ends = [n for n in range(1, len(piece)) if (at + n) % 4096 == 0]
    doubt = one_of(path, *(data[:at] + piece[:n] + data[at + n:] for n in [0] + ends + [len(piece)]))
    fd = os.open(full(path), os.O_WRONLY)
    os.pwrite(fd, piece, at)
    os.close(fd)
    tree[path] = data[:at] + piece + data[at + len(piece):]

def op_chmod():
    path = rnd.choice(sorted(tree))
    mode = rnd.choice([0o600, 0o644, 0o755]) if tree[path] is not None else rnd.choice([0o700, 0o755])
    last.append("chmod %s %o" % (path, mode))
    os.chmod(full(path), mode)
    got = stat.S_IMODE(os.stat(full(path)).st_mode)
    if got != mode:
        fail("%s has the mode %o, not %o" % (path, got, mode))

def op_remove():
    global doubt
    path = rnd.choice(files())
    last.append("remove " + path)
    doubt = one_of(path, tree[path], False)
    os.unlink(full(path))
    del tree[path]
    doubt = None
    gone(path)

def op_rmdir():
    global doubt
    empty = [d for d in dirs()[1:] if not any(p.startswith(d + "/") for p in tree)]
    if not empty:
        return
    path = rnd.choice(empty)
    last.append("rmdir " + path)
    doubt = one_of(path, None, False)
    os.rmdir(full(path))
    del tree[path]
    doubt = None
    gone(path)

def bytes_of(path):
    with open(full(path), "rb") as f:
        return f.read()

def op_read(path=None):
    path = path or rnd.choice(files())
    last.append("read " + path)
    data = bytes_of(path)
    if len(data) > len(tree[path]) and "GROW_DOUBLED" in os.environ:
        time.sleep(2)
        data = bytes_of(path)
    if data != tree[path]:
        same = next((i for i, (a, b) in enumerate(zip(data, tree[path])) if a != b), min(len(data), len(tree[path])))
        fail("%s has %d bytes instead of %d, and others from %d on" % (path, len(data), len(tree[path]), same))

def op_list(path=None):
    path = rnd.choice(dirs()) if path is None else path
    last.append("list " + (path or "."))
    got = os.listdir(full(path))
    want = sorted(p.rpartition("/")[2] for p in tree if p.rpartition("/")[0] == path)
    if sorted(got) != want:
        fail("a listing of %s: %s too few, %s too many, %s twice" % (
            path or ".", sorted(set(want) - set(got)), sorted(set(got) - set(want)), sorted(n for n in set(got) if got.count(n) > 1)))

def gone(path):
    try:
        os.lstat(full(path))
    except OSError as e:
        if e.errno == errno.ENOENT:
            return
        raise
    fail(path + " is still there")

# ---- the mount is killed ----

def at_path(path):
    """What is there: bytes, None: a directory, or False: nothing."""
    try:
        if stat.S_ISDIR(os.lstat(full(path)).st_mode):
            return None
        return bytes_of(path)
    except FileNotFoundError:
        return False

def describe(data):
    return "nothing" if data is False else "a directory" if data is None else "%d bytes, %08x" % (len(data), zlib.crc32(data))

def one_of(path, *possible):
    """One path: it has become one of these, and is that from now on."""
    def settle():
        is_now = at_path(path)
        if not any(is_now is p if p is None or p is False else is_now == p for p in possible):
            fail("%s is none of what it could be: %s, not one of %s" % (path, describe(is_now), ", ".join(map(describe, possible[-2:]))))
        if is_now is False:
            tree.pop(path, None)
        else:
            tree[path] = is_now
    return settle

def moved_or_not(src, dst):
    def settle():
        inside = [p for p in sorted(tree) if p == src or p.startswith(src + "/")]
        was, there, here = tree.get(dst, False), at_path(dst), at_path(src)
        if here is not False and there == was:
            return
        if here is not False or there is False or there != tree[src]:
            fail("%s was renamed to %s by half" % (src, dst))
        for p in inside:
            tree[dst + p[len(src):]] = tree.pop(p)
    return settle

def mounts():
    """How often there was a mount; "-": there is none."""
    with open(counter) as f:
        return f.read().strip()

def wait_for_mount():
    end = time.monotonic() + 120
    while mounts() == "-":
        if time.monotonic() > end:
            fail("there is no mount")
        time.sleep(0.05)
    return mounts()

def killed():
    """An error came because the mount is another one now. Then when that can be used."""
    global mounted, kills
    if not counter or mounts() == mounted:
        return False
    mounted = wait_for_mount()
    kills += 1
    last.append("the mount was killed")
    return True

mounted, kills = counter and wait_for_mount(), 0

def settle():
    """Finds out what came of the operation that was under way, though the mount may be killed again meanwhile."""
    while doubt:
        try:
            return doubt()
        except OSError:
            if not killed():
                raise

def attempt(kind):
    global doubt
    try:
        kind()
    except OSError:
        if not killed():
            raise
        settle()
    doubt = None

operations = [(op_rename, 8), (op_replace, 4), (op_rename_dir, 1), (op_make, 3), (op_remove, 2), (op_write, 4), (op_read, 4), (op_list, 2), (op_chmod, 1),
              (op_mkdir, 1), (op_rmdir, 1)]
operations = [(o, w) for o, w in operations if o.__name__.replace("op_", "-", 1) not in sys.argv[5:]]
kinds, weights = [o for o, _ in operations], [w for _, w in operations]
done = 0
try:
    for _ in range(6):
        attempt(op_mkdir)
    for _ in range(members):
        attempt(op_make)
    while not os.path.exists(stop):
        n = len(files())
        kind = rnd.choices(kinds, weights)[0]
        if kind is op_remove and n < members // 2 or kind is op_rmdir and len(dirs()) < 5:
            kind = op_make
        if kind is op_make and n > 2 * members or kind is op_mkdir and len(dirs()) > 20:
            kind = op_read
        attempt(kind)
        done += 1
    last.append("the end")
    for p in dirs():
        op_list(p)
    for p in files():
        op_read(p)
except OSError as e:
    fail(str(e))

print("%d operations, %d names" % (done, len(tree)) + (", %d times killed" % kills if counter else ""))
