#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Two mounts after the same names: whoever is refused is told what a local disk would tell, never that nobody is connected or that the
# copies contradict each other. ESTALE, after which the kernel looks the name up once more, is for a file that is gone by then.
. "$(dirname "$0")/lib.sh"
require_root
require_fuse
start_glusterishd >/dev/null
start_volume names 3 >/dev/null || { echo "Bail out! no volume"; exit 1; }
# Whoever changes a name waits until the other mount shows it no more, and both do so all the time.
for option in cache-invalidation cache-invalidation-strict; do must "$option is on" gi volume set names features.$option on; done
mount_volume names "$WORK/a" && mount_volume names "$WORK/b" || { echo "Bail out! no mount"; exit 1; }

# contend WHAT SECONDS: what processes on both mounts were told that they should not have been, each once; nothing if all is well.
contend() {
  timeout 60 python3 - "$WORK/a" "$WORK/b" "$@" <<'PY'
import collections, errno, fcntl, os, random, sys, time
A, B, what, seconds = sys.argv[1], sys.argv[2], sys.argv[3], float(sys.argv[4])
FINE = {"chmod": "ESTALE", "open": "ESTALE", "stat": "ESTALE", "make": "EEXIST", "symlink": "EEXIST", "link": "EEXIST ENOENT",
        "unlink": "ENOENT", "lstat": "ENOENT", "lock's open": "ESTALE", "lock's stat": "ENOENT ESTALE", "lock's unlink": "ENOENT", "move": "ENOENT"}
end = time.time() + seconds
told = collections.Counter()

def call(name, f, *args):
    try:
        r = f(*args)
        told[name + " done"] += 1
        return r
    except OSError as e:
        code = errno.errorcode[e.errno]
        told[code if code in FINE.get(name, "").split() else "%s: %s" % (name, code)] += 1

def closed(fd):
    if fd is not None:
        os.close(fd)

def replace(m):
    while time.time() < end:
        closed(call("create", os.open, m + "/tmp", os.O_CREAT | os.O_RDWR | os.O_TRUNC, 0o644))
        call("rename", os.rename, m + "/tmp", m + "/v")

def use(m):
    while time.time() < end:
        call("chmod", os.chmod, m + "/v", random.randrange(0o400, 0o777))
        call("stat", os.stat, m + "/v")
        closed(call("open", os.open, m + "/v", os.O_RDONLY))

def more(*names):
    """On a busy machine it takes longer until something came of each."""
    now = time.time()
    return now < end or now < end + 20 and not all(told[n + " done"] for n in names)

def churn(m):
    while more("make", "symlink", "link", "unlink", "lstat"):
        p = "%s/n%d" % (m, random.randrange(3))
        random.choice((lambda: closed(call("make", os.open, p, os.O_CREAT | os.O_EXCL | os.O_RDWR)),
                       lambda: call("symlink", os.symlink, "x", p), lambda: call("link", os.link, m + "/keep", p),
                       lambda: call("unlink", os.unlink, p), lambda: call("lstat", os.lstat, p)))()

def lock(m):
    while time.time() < end:
        fd = call("lock's open", os.open, m + "/lock", os.O_CREAT | os.O_RDWR, 0o644)
        if fd is None:
            continue
        call("flock", fcntl.flock, fd, fcntl.LOCK_EX)
        call("fstat", os.fstat, fd)
        call("lock's stat", os.stat, m + "/lock")
        call("lock's unlink", os.unlink, m + "/lock")
        closed(fd)

def run(jobs):
    pids = []
    for f, m in jobs:
        r, w = os.pipe()
        pid = os.fork()
        if pid == 0:
            random.seed(os.getpid())
            f(m)
            os.write(w, repr(dict(told)).encode())
            os._exit(0)
        os.close(w)
        pids.append((pid, r))
    for pid, r in pids:
        told.update(eval(os.read(r, 65536) or b"{'a process died': 1}"))
        os.waitpid(pid, 0)

def some(*names):
    for n in names:
        if not told[n + " done"]:
            print("nothing came of " + n)

open(A + "/v", "w").close()
open(A + "/keep", "w").close()
if what == "replaced":
    run([(replace, A), (use, A), (use, B)])
    some("rename", "chmod", "stat", "open")
elif what == "churned":
    run([(churn, A), (churn, B), (churn, A), (churn, B)])
    some("make", "symlink", "link", "unlink", "lstat")
else:
    run([(lock, A), (lock, B)])
    some("lock's open", "lock's unlink")
for name in sorted(told):
    if ": " in name or name.startswith("a process"):
        print(name, told[name])
PY
}

is "$(contend replaced 3 2>&1)" "" "a name that is renamed over can be looked at, opened and changed all the time"
is "$(contend churned 3 2>&1)" "" "names that are made and removed all the time are there or not"
is "$(contend locked 2 2>&1)" "" "a lock file that is opened, compared and removed"
# moved: of two mounts that move one name to another at the same time one is told of success each time.
moved() {
  timeout 60 python3 - "$WORK/a" "$WORK/b" "$WORK/sync" <<'PY'
import os, sys
mounts, sync, rounds = sys.argv[1:3], sys.argv[3], 40
os.makedirs(sync)
for i in range(rounds):
    open("%s/s%d" % (mounts[0], i), "w").close()
os.listdir(mounts[1])
def one(me):
    done = ""
    for i in range(rounds):
        open("%s/%d.%d" % (sync, me, i), "w").close()
        while not os.path.exists("%s/%d.%d" % (sync, 1 - me, i)):
            pass
        try:
            os.rename("%s/s%d" % (mounts[me], i), "%s/t%d" % (mounts[me], i))
            done += "1"
        except FileNotFoundError:
            done += "0"
    return done
r, w = os.pipe()
if os.fork() == 0:
    os.write(w, one(1).encode())
    os._exit(0)
mine = one(0)
other = os.read(r, rounds).decode()
wrong = [i for i in range(rounds) if mine[i] == other[i]]
assert not wrong, "%s\n%s" % (mine, other)
PY
}
ok "of two that move one name one is told of success" moved

# anew FLAG: a file that one mount has open (or not) and the other has removed is made anew by open with O_CREAT and that flag.
anew() {
  python3 - "$WORK/a" "$WORK/b" "$1" <<'PY'
import os, sys
a, b = (d + "/anew" + sys.argv[3] for d in sys.argv[1:3])
for opened in range(4): # by nobody, the one, the other, both
    with open(a, "w") as f:
        f.write("old")
    with open(b) as f:
        assert f.read() == "old"
    fds = [os.open(p, os.O_RDWR) for i, p in enumerate((a, b)) if opened >> i & 1]
    os.unlink(b)
    fd = os.open(a, os.O_CREAT | os.O_WRONLY | getattr(os, sys.argv[3]), 0o644)
    os.write(fd, b"new")
    os.close(fd)
    for fd in fds:
        assert os.pread(fd, 9, 0) == b"old", "the removed file was written to"
    assert os.listdir(os.path.dirname(b)).count(os.path.basename(b)) == 1, "it is not there"
    if fds and opened != 2: # the removed one is still to be opened by whoever has it
        with open("/proc/self/fd/%d" % fds[0]) as f:
            assert f.read() == "old"
    os.unlink(a)
    for fd in fds:
        os.close(fd)
PY
}
ok "a file that another mount has removed is made anew" anew O_TRUNC
ok "and so without truncation" anew O_APPEND
ok "nothing waits to be healed" within 20 sh -c "! '$GLUSTERISH' --mode=script '--glusterd-sock=$SOCK' volume heal names info | grep -q '^Number of entries: [^0]'"
is "$(gi metrics names | awk '/^glusterish_features_upcall_unanswered_total/ {n += $NF} END {print n + 0}')" 0 "no mount was waited for in vain"
done_testing
