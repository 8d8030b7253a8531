#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Attributes and absent names from memory: how old they may be on another mount, and that own changes are never hidden.
. "$(dirname "$0")/lib.sh"
require_root
require_fuse
start_glusterishd >/dev/null
must "a volume is there" start_volume cached 3
for option in stat-prefetch nl-cache nl-cache-positive-entry; do
  must "$option is switched on" gi volume set cached performance.$option on
done
must "it is mounted" mount_volume cached "$WORK/a"
must "it is mounted a second time" mount_volume cached "$WORK/b"

# look SUBJECT NAME [MOUNT MOUNT]: the subject of the script below finds nothing wrong.
look() {
  is "$(timeout 60 python3 - "$1" "$WORK/${3:-a}" "$WORK/${4:-b}" 2>&1 <<'PY'
import errno, os, sys, time

a, b = sys.argv[2:]


def missing(path):
    try:
        os.lstat(path)
    except FileNotFoundError:
        return True


def attribute(path, name):
    try:
        return os.getxattr(path, name)
    except OSError as e:
        return errno.errorcode[e.errno]


def touch(path):
    open(path, "w").close()


def forget():
    """Has the kernel ask again for whatever it knows."""
    with open("/proc/sys/vm/drop_caches", "w") as f:
        f.write("2")


def own():
    """Sizes, counts of links, modes and extended attributes right after the change."""
    for i in range(8):
        path = a + "/own-%d-%d" % (i, os.getpid())
        with open(path, "wb") as f:
            for n in range(1, 5):
                f.write(b"x" * 1000)
                f.flush()
                if os.fstat(f.fileno()).st_size != 1000 * n:
                    print("size after a write", os.fstat(f.fileno()).st_size)
            os.ftruncate(f.fileno(), 10)
            if os.stat(path).st_size != 10:
                print("size after a truncation", os.stat(path).st_size)
            os.chmod(path, 0o600 + i % 8)
            if os.stat(path).st_mode & 0o777 != 0o600 + i % 8:
                print("mode", oct(os.stat(path).st_mode))
            os.link(path, path + "-2")
            if os.stat(path).st_nlink != 2:
                print("links", os.stat(path).st_nlink)
            os.unlink(path)
            if os.fstat(f.fileno()).st_nlink != 1 or os.stat(path + "-2").st_nlink != 1:
                print("links after one is gone", os.fstat(f.fileno()).st_nlink, os.stat(path + "-2").st_nlink)
            if attribute(path + "-2", "security.capability") != "ENODATA":
                print("a capability from nowhere")
            cap = bytes.fromhex("0100000200040000000000000000000000000000")
            os.setxattr(path + "-2", "security.capability", cap)
            if attribute(path + "-2", "security.capability") != cap:
                print("a capability is not there", attribute(path + "-2", "security.capability"))
            f.write(b"x")
            f.flush()
            if attribute(path + "-2", "security.capability") != "ENODATA":
                print("a capability outlives a write")


def names():
    """A name that was looked up in vain is there after each call that makes it, whatever the kernel remembers."""
    makes = {
        "creat": touch,
        "mknod": os.mknod,
        "mkdir": os.mkdir,
        "symlink": lambda p: os.symlink("x", p),
        "link": lambda p: os.link(a + "/source", p),
        "rename": lambda p: os.rename(a + "/source", p),
    }
    for parent in a, a + "/deep":
        os.makedirs(parent, exist_ok=True)
        touch(a + "/source")
        for name, make in makes.items():
            path = parent + "/" + name
            if not missing(path) or not missing(path):
                print(path, "is there already")
            make(path)
            forget()
            if missing(path):
                print(path, "is missing")
    forget()
    touch(a + "/deep/mkdir/x")
    if missing(a + "/deep/mkdir/x"):
        print("what was made in a new directory is missing")


def other():
    """What the other mount changes is seen when both timeouts have passed."""
    touch(a + "/file")
    os.mkdir(a + "/dir")
    for _ in range(2):
        os.stat(b + "/file"), os.listdir(b + "/dir"), attribute(b + "/file", "security.capability")
    if not missing(b + "/dir/new"):
        print("new is there already")
    with open(a + "/file", "w") as f:
        f.write("12345")
    os.chmod(a + "/file", 0o640)
    touch(a + "/dir/new")
    time.sleep(2.2)
    st = os.stat(b + "/file")
    if st.st_size != 5 or st.st_mode & 0o777 != 0o640:
        print("old attributes", st)
    if missing(b + "/dir/new"):
        print("a new name is missing")
    if open(b + "/file").read() != "12345":
        print("old data")
    os.rename(a + "/dir/new", a + "/dir/newer")
    os.unlink(a + "/file")
    time.sleep(2.2)
    if not missing(b + "/dir/new") or missing(b + "/dir/newer") or not missing(b + "/file"):
        print("old names", os.listdir(b + "/dir"))


def lock():
    """What was done elsewhere under a lock is seen by who gets it next."""
    import fcntl

    touch(a + "/lock")
    fa, fb = os.open(a + "/lock", os.O_RDWR), os.open(b + "/lock", os.O_RDWR)
    for i in range(10):
        fcntl.lockf(fb, fcntl.LOCK_EX)
        if os.fstat(fb).st_size != i:
            print("size under the lock", os.fstat(fb).st_size, "for", i)
        fcntl.lockf(fb, fcntl.LOCK_UN)
        fcntl.lockf(fa, fcntl.LOCK_EX)
        os.pwrite(fa, b"x", i)
        fcntl.lockf(fa, fcntl.LOCK_UN)


def told():
    """Bricks tell: what was kept for minutes ends within a moment."""

    def soon(what, seen):
        end = time.time() + 5
        while not seen():
            if time.time() > end:
                return print("not seen:", what)
            time.sleep(0.01)

    os.mkdir(a + "/told")
    touch(a + "/told/file")
    for _ in range(3):
        os.stat(b + "/told/file"), os.listdir(b + "/told"), missing(b + "/told/new"), attribute(b + "/told/file", "user.DOSATTRIB")
    with open(a + "/told/file", "w") as f:
        f.write("12345")
    soon("a size", lambda: os.stat(b + "/told/file").st_size == 5)
    os.setxattr(a + "/told/file", "user.DOSATTRIB", b"x")
    soon("an extended attribute", lambda: attribute(b + "/told/file", "user.DOSATTRIB") == b"x")
    touch(a + "/told/new")
    soon("a new name", lambda: not missing(b + "/told/new"))
    os.rename(a + "/told/new", a + "/told/newer")
    soon("a name that moved", lambda: missing(b + "/told/new") and not missing(b + "/told/newer"))


{"own": own, "names": names, "other": other, "lock": lock, "told": told}[sys.argv[1]]()
PY
)" "" "$2"
}

look own "attributes are right after every change of one's own"
look names "a name that one has made is found"
look other "changes of the other mount are seen when both timeouts have passed"
look lock "and under a lock at once"
for option in features.cache-invalidation performance.cache-samba-metadata; do must "$option is on" gi volume set cached $option on; done
for option in md-cache-timeout nl-cache-timeout; do must "$option is long" gi volume set cached performance.$option 600; done
for m in c e; do must "the kernel keeps nothing on $m" mount_volume cached "$WORK/$m" --attribute-timeout=0 --entry-timeout=0; done
look told "and at once when bricks tell" c e
for option in stat-prefetch nl-cache; do ok "$option is switched off under the mount" gi volume set cached performance.$option off; done
look own "attributes are right without"
done_testing
