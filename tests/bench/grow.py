# SPDX-License-Identifier: Apache-2.0
"""A tree that is constantly renamed, against a model in memory.

    grow.py DIRECTORY SEED STOP [MEMBERS [-KIND…]]

Files and directories are made, renamed (over others too), written, read, listed and removed until the file STOP exists; then everything is compared
once more. Each answer must be what the model says: a listing shows each name once and none that is not there, a file has its bytes, what is gone is
gone. Status 0: so it was. -KIND leaves a kind of operation out: -rename, -replace, -rename_dir, -make …. The same seed does the same operations, up to when it is stopped.
"""
import errno
import os
import random
import stat
import sys

top, seed, stop = sys.argv[1], int(sys.argv[2]), sys.argv[3]
members = int(sys.argv[4]) if len(sys.argv) > 4 else 60
rnd = random.Random(seed)
tree = {}  # path below top -> bytes of a file, or None: a directory
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
    path, data = fresh(rnd.choice(dirs()), "f"), some_bytes()
    last.append("make %s, %d bytes" % (path, len(data)))
    fd = os.open(full(path), os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
    os.write(fd, data)
    os.close(fd)
    tree[path] = data

def op_mkdir():
    path = fresh(rnd.choice([d for d in dirs() if d.count("/") < 3]), "d")
    last.append("mkdir " + path)
    os.mkdir(full(path))
    tree[path] = None

def op_rename():
    src = rnd.choice(files())
    dst = fresh(rnd.choice(dirs()), "r")
    last.append("rename %s %s" % (src, dst))
    os.rename(full(src), full(dst))
    tree[dst] = tree.pop(src)
    gone(src)

def op_replace():
    src, dst = rnd.sample(files(), 2)
    last.append("replace %s by %s" % (dst, src))
    os.rename(full(src), full(dst))
    tree[dst] = tree.pop(src)
    gone(src)
    op_read(dst)

def op_rename_dir():
    all_dirs = dirs()[1:]
    src = rnd.choice(all_dirs)
    into = [d for d in dirs() if not (d + "/").startswith(src + "/") and d.count("/") < 3]
    dst = fresh(rnd.choice(into), "e")
    last.append("rename the directory %s %s" % (src, dst))
    os.rename(full(src), full(dst))
    for p in sorted(tree):
        if p == src or p.startswith(src + "/"):
            tree[dst + p[len(src):]] = tree.pop(p)

def op_write():
    path, piece = rnd.choice(files()), rnd.randbytes(rnd.choice([1, 500, 8192]))
    data = tree[path]
    at = rnd.randrange(len(data) + 1)
    last.append("write %s, %d bytes at %d" % (path, len(piece), at))
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
    path = rnd.choice(files())
    last.append("remove " + path)
    os.unlink(full(path))
    del tree[path]
    gone(path)

def op_rmdir():
    empty = [d for d in dirs()[1:] if not any(p.startswith(d + "/") for p in tree)]
    if not empty:
        return
    path = rnd.choice(empty)
    last.append("rmdir " + path)
    os.rmdir(full(path))
    del tree[path]
    gone(path)

def op_read(path=None):
    path = path or rnd.choice(files())
    last.append("read " + path)
    with open(full(path), "rb") as f:
        data = f.read()
    if data != tree[path]:
        same = next((i for i, (a, b) in enumerate(zip(data, tree[path])) if a != b), min(len(data), len(tree[path])))
        fail("%s has %d bytes instead of %d, and others from %d on" % (path, len(data), len(tree[path]), same))

def op_list(path=None):
    path = rnd.choice(dirs()) if path is None else path
    last.append("list " + (path or "."))
    got = os.listdir(full(path))
    want = sorted(p.rpartition("/")[2] for p in tree if p.rpartition("/")[0] == path)
    if sorted(got) != want:
        fail("a listing of %s: %s too few, %s too many, %d twice" % (
            path or ".", sorted(set(want) - set(got)), sorted(set(got) - set(want)), len(got) - len(set(got))))

def gone(path):
    try:
        os.lstat(full(path))
    except OSError as e:
        if e.errno == errno.ENOENT:
            return
        raise
    fail(path + " is still there")

operations = [(op_rename, 8), (op_replace, 4), (op_rename_dir, 1), (op_make, 3), (op_remove, 2), (op_write, 4), (op_read, 4), (op_list, 2), (op_chmod, 1),
              (op_mkdir, 1), (op_rmdir, 1)]
operations = [(o, w) for o, w in operations if o.__name__.replace("op_", "-", 1) not in sys.argv[5:]]
kinds, weights = [o for o, _ in operations], [w for _, w in operations]
done = 0
try:
    for _ in range(6):
        op_mkdir()
    for _ in range(members):
        op_make()
    while not os.path.exists(stop):
        n = len(files())
        kind = rnd.choices(kinds, weights)[0]
        if kind is op_remove and n < members // 2 or kind is op_rmdir and len(dirs()) < 5:
            kind = op_make
        if kind is op_make and n > 2 * members or kind is op_mkdir and len(dirs()) > 20:
            kind = op_read
        kind()
        done += 1
    last.append("the end")
    for p in dirs():
        op_list(p)
    for p in files():
        op_read(p)
except OSError as e:
    fail(str(e))

print("%d operations, %d names" % (done, len(tree)))
