# SPDX-License-Identifier: Apache-2.0
"""Two mounts of one volume use the same directory in turn.

    pass.py ONE OTHER STOP

OTHER is of GlusterFS. Until the file STOP exists one makes files, the other changes and renames them, the first replaces some by others, the
other removes the rest; after each step who did not do it must see it, as soon as its caches allow.
"""
import errno
import os
import sys
import time

one, other, stop = sys.argv[1:]
COUNT, PATIENCE = 12, 10

def seen(top):
    """All files of the directory with their contents; None: they are being changed."""
    try:
        return {n: open(os.path.join(top, n), "rb").read() for n in os.listdir(top)}
    except OSError as e:
        if e.errno not in (errno.ENOENT, errno.ESTALE):
            raise
        return None

def wait_for(top, want, what):
    end = time.monotonic() + PATIENCE
    while True:
        got = seen(top)
        if got == want:
            return
        if time.monotonic() > end:
            got = got or {}
            sys.exit("%s: %s sees %s too few, %s too many, %s otherwise" % (
                what, top, sorted(set(want) - set(got)), sorted(set(got) - set(want)),
                sorted(n for n in set(got) & set(want) if got[n] != want[n])))
        time.sleep(0.05)

def rename_there(old, new):
    """A rename of GlusterFS' client that has waited for the move of its file looks it up once more, where it was, and fails (doc/spec/distribute.md 6.4)."""
    for again in range(PATIENCE):
        try:
            return os.rename(os.path.join(other, old), os.path.join(other, new))
        except OSError as e:
            if again == PATIENCE - 1 or e.errno not in (errno.ENOENT, errno.ESTALE, errno.EBUSY) or old not in os.listdir(other):
                raise

rounds = 0
while not os.path.exists(stop) or rounds == 0:
    rounds += 1
    have = {}
    for i in range(COUNT):
        name = "f%d-%d" % (rounds, i)
        have[name] = b"%d\n" % i * (1 + 3000 * (i % 3))
        with open(os.path.join(one, name), "wb") as f:
            f.write(have[name])
    wait_for(other, have, "round %d, made" % rounds)
    for name in list(have):
        with open(os.path.join(other, name), "ab") as f:
            f.write(b"more")
        to = "g" + name[1:]
        rename_there(name, to)
        have[to] = have.pop(name) + b"more"
    wait_for(one, have, "round %d, changed and renamed" % rounds)
    names = sorted(have)
    for src, dst in zip(names[::2], names[1::2]):
        os.rename(os.path.join(one, src), os.path.join(one, dst))
        have[dst] = have.pop(src)
    wait_for(other, have, "round %d, replaced" % rounds)
    for name in list(have):
        os.unlink(os.path.join(other, name))
    wait_for(one, {}, "round %d, removed" % rounds)
print("%d rounds" % rounds)
