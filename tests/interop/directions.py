# SPDX-License-Identifier: Apache-2.0
# Marks made by hand on stopped bricks, and what a heal has to make of them (replicate.md 7.2, 11): one table for every healer.
#   directions.py make DIR            # through a mount: the objects
#   directions.py mark BRICK...       # on the stopped bricks: contents, attributes, counters, index names
#   directions.py age BRICK...        # after the bricks were copied: which copy was changed last
#   directions.py sentinel N BRICK... # marks the file sentinelN on running bricks
#   directions.py todo BRICK...       # exit status 0 when nothing that can be healed has a mark left
#   directions.py show BRICK...       # a line per case: what every brick holds and says now
#   directions.py expect              # a line per case whose outcome is settled: name, ours, GlusterFS's (what it may be, separated by |)
import os, stat, struct, sys, time, uuid

N = 3
CASES = []


def case(name, kind, pending, dirty=(0, 0, 0), size=(4, 4, 4), newest=None, late=True, winner=None, healable=True,
         same=False, names=("ac", "ac", "ab"), theirs=None):
    CASES.append(dict(name=name, kind=kind, pending=pending, dirty=dirty, size=size, newest=newest, late=late, winner=winner,
                      healable=healable, same=same, names=names,
                      theirs=theirs))


NONE, ALL = [[0] * 3] * 3, [[0, 1, 1], [1, 0, 1], [1, 1, 0]]
THIRD, RING = [[0, 0, 1], [0, 0, 1], [0] * 3], [[0, 1, 0], [0, 0, 1], [1, 0, 0]]
MIN = -(1 << 31)

# ---- data: every brick's bytes are its own letter; winner: whose letter the accused get, as the three letters afterwards ----
case("d-two-blame-third", "data", THIRD, winner="ABA")
case("d-one-blames-two", "data", [[0] * 3, [1, 0, 1], [0] * 3], winner="BBB")
case("d-one-recorded", "data", [[0, 0, 3], [0] * 3, [0] * 3], winner="ABA")
case("d-blames-back", "data", [[0, 0, 2], [0, 0, 2], [1, 0, 0]])
case("d-host-order", "data", [[0, 0, 1 << 24], [0] * 3, [0] * 3], winner="ABA")
case("d-negative", "data", [[0, 0, -1], [0] * 3, [0] * 3], winner="ABA")
case("d-smallest-number", "data", [[0, 0, MIN], [0] * 3, [0] * 3], winner="ABA")
case("d-dirty-newest", "data", NONE, (1, 1, 1), newest=1, winner="BBB")
case("d-dirty-newest-of-the-second", "data", NONE, (1, 1, 1), newest=1, late=False, winner="CCC")
case("d-dirty-largest", "data", NONE, (1, 1, 1), (9, 8, 7), winner="AAA")
case("d-dirty-witness", "data", NONE, (1, 2, 9), (9, 9, 8), newest=0, winner="BBB")
case("d-dirty-one", "data", NONE, (0, 1, 0), newest=2, winner="BBB")
case("d-sizes-differ", "data", NONE, size=(4, 9, 9), newest=1, winner="BBB")
case("d-sizes-differ-one-empty", "data", NONE, size=(0, 0, 9), winner="CCC")
case("d-blamed-is-larger", "data", THIRD, size=(4, 4, 9), winner="ABA")
case("d-blamed-is-empty", "data", THIRD, size=(4, 4, 0), winner="ABA")
case("d-source-is-empty", "data", [[0, 1, 1], [0] * 3, [0] * 3], size=(0, 4, 9), winner="---")
case("d-dirty-sink", "data", THIRD, (0, 0, 1), winner="ABA")
case("d-dirty-source", "data", THIRD, (0, 1, 0), winner="BBB")
case("d-two-and-third", "data", [[0, 1, 1], [1, 0, 1], [0] * 3], size=(4, 9, 50), winner="BBB")
case("d-ring-larger", "data", RING, size=(4, 3, 2), winner="AAA")
case("d-all-blame-all", "data", ALL, size=(4, 9, 50), winner="ABC", healable=False)
case("d-all-blame-all-empty", "data", ALL, size=(0, 0, 0), winner="---")
case("d-self-accused", "data", [[1, 0, 0], [0] * 3, [0] * 3], newest=2, winner="AAA")
case("d-self-accused-all", "data", [[1, 1, 1], [0] * 3, [0] * 3], (0, 1, 0), winner="AAA")
case("d-self-and-accused", "data", [[1, 1, 1], [1, 0, 0], [0] * 3])
case("d-chain", "data", [[0, 1, 0], [0, 0, 1], [0] * 3])
# ---- metadata: modes 0600, 0640, 0644 and a user attribute with the brick's letter; the winner's letters likewise ----
case("m-two-blame-third", "meta", THIRD, winner="AAA")
case("m-one-blames-two", "meta", [[0] * 3, [1, 0, 1], [0] * 3], winner="BBB")
case("m-dirty-one", "meta", NONE, (0, 1, 0), winner="BBB")
case("m-dirty-all", "meta", NONE, (1, 1, 1), winner="AAA")
case("m-two-and-third", "meta", [[0, 1, 1], [1, 0, 1], [0] * 3])
case("m-all-blame-all", "meta", ALL, winner="ABC", healable=False)
case("m-all-blame-all-same", "meta", ALL, winner="AAA", same=True)
case("m-unmarked", "meta", NONE, winner="AAA")
case("m-dirty-sink", "meta", THIRD, (0, 0, 1), winner="AAA")
case("m-self-accused", "meta", [[1, 0, 0], [0] * 3, [0] * 3], winner="AAA")
# ---- entries: names on each brick; winner: the names everywhere afterwards ----
SPLIT = ("bc", "ac", "ab")
case("e-two-blame-third", "entry", THIRD, winner="ac")
case("e-one-blames-two", "entry", [[0] * 3, [1, 0, 1], [0] * 3], names=SPLIT, winner="ac")
case("e-dirty-all", "entry", NONE, (1, 1, 1), names=SPLIT, winner="abc")
case("e-mutual", "entry", [[0, 1, 0], [1, 0, 0], [0] * 3], names=SPLIT, winner="abc")
case("e-mutual-and-third", "entry", [[0, 1, 1], [1, 0, 1], [0] * 3], names=SPLIT, winner="abc")
case("e-all-blame-all", "entry", ALL, names=SPLIT, winner="abc")
case("e-silent-second", "entry", [[0, 0, 1], [0] * 3, [0] * 3], winner="ac")
case("e-silent-first", "entry", [[0] * 3, [0, 0, 1], [0] * 3], winner="ac")
# Where GlusterFS leaves copies different. It forgets that brick 2 blamed brick 3 once brick 2 is healed (or merges all three, when its
# threads for the bricks' indices meet at the directory); and what one of two good copies has it does not give to the other.
case("e-chain", "entry", [[0, 1, 0], [0, 0, 1], [0] * 3], names=("ac", "ab", "ab"), winner="ac", theirs="ac/ac/ab|abc")
case("e-good-ones-differ", "entry", THIRD, names=SPLIT, winner="abc", theirs="bc/ac/bc")
# A dirty mark anywhere, or a copy that accuses itself, makes GlusterFS merge, and what was removed while a brick was away comes back.
case("e-dirty-sink", "entry", THIRD, (0, 0, 1), winner="ac", theirs="abc")
case("e-dirty-source", "entry", THIRD, (1, 0, 0), winner="ac", theirs="abc")
case("e-self-accused", "entry", [[1, 0, 0], [0] * 3, [0] * 3], names=("ab", "ac", "ac"), winner="ac", theirs="abc")

SLOT = {"data": 0, "meta": 1, "entry": 2}
MODES = (0o600, 0o640, 0o644)
SENTINELS = 2


def is_dir(c):
    return c["kind"] == "entry"


def make(top):
    for c in CASES:
        path = os.path.join(top, c["name"])
        if is_dir(c):
            os.mkdir(path)
            for name in "abc":
                open(os.path.join(path, name), "w").close()
        else:
            with open(path, "w") as f:
                f.write("same")
    for n in range(SENTINELS):
        open(os.path.join(top, "sentinel%d" % n), "w").close()


def gfid_of(path):
    return str(uuid.UUID(bytes=os.getxattr(path, "trusted.gfid", follow_symlinks=False)))


def handle(brick, gfid):
    return os.path.join(brick, ".glusterfs", gfid[:2], gfid[2:4], gfid)


def index(brick, gfid, folder):
    folder = os.path.join(brick, ".glusterfs/indices", folder)
    os.makedirs(folder, exist_ok=True)
    bases = [n for n in os.listdir(folder) if n.startswith(os.path.basename(folder) + "-")]
    if bases:
        os.link(os.path.join(folder, bases[0]), os.path.join(folder, gfid))
    else:
        open(os.path.join(folder, gfid), "w").close()


def counter(kind, n):
    slots = [0, 0, 0]
    slots[SLOT[kind]] = n
    return struct.pack(">3i", *slots)


def set_counters(c, brick, i, path):
    for j in range(N):
        if c["pending"][i][j]:
            os.setxattr(path, "trusted.afr.v-client-%d" % j, counter(c["kind"], c["pending"][i][j]))
    if c["dirty"][i]:
        os.setxattr(path, "trusted.afr.dirty", counter(c["kind"], c["dirty"][i]))
    gfid = gfid_of(path)
    for folder, marked in (("xattrop", any(c["pending"][i])), ("dirty", c["dirty"][i] or not any(c["pending"][i]))):
        try:
            if marked:
                index(brick, gfid, folder)
        except FileExistsError:
            pass


def mark(bricks):
    for c in CASES:
        for i, brick in enumerate(bricks):
            path = os.path.join(brick, c["name"])
            letter = "ABC"[0 if c["same"] else i]
            if c["kind"] == "data":
                with open(path, "w") as f:
                    f.write(letter * c["size"][i])
            elif c["kind"] == "meta":
                os.setxattr(path, "user.letter", letter.encode())
                os.chmod(path, MODES["ABC".index(letter)])
            else:
                for name in sorted(set("abc") - set(c["names"][i])):
                    name = os.path.join(path, name)
                    os.unlink(handle(brick, gfid_of(name)))
                    os.unlink(name)
            os.utime(path, (1e9, 1e9))
            set_counters(c, brick, i, path)


def next_second():
    time.sleep(1.02 - time.time() % 1)  # and the clock of the file system is coarse


def touch(c, i, brick):
    path = os.path.join(brick, c["name"])
    os.chmod(path, stat.S_IMODE(os.stat(path).st_mode))


# First all copies, all in one second, the first one at last: of attributes that differ without a mark we take what was changed last, and GlusterFS the
# first. Then those that are to be newer, in the same second or the next.
def age(bricks):
    next_second()
    for i, brick in reversed(list(enumerate(bricks))):
        for c in CASES:
            touch(c, i, brick)
    time.sleep(0.02)
    for late in (False, True):
        for c in CASES:
            if c["newest"] is not None and c["late"] == late:
                touch(c, c["newest"], bricks[c["newest"]])
        next_second()


def sentinel(n, bricks):
    path = os.path.join(bricks[0], "sentinel%d" % n)
    os.setxattr(path, "trusted.afr.v-client-2", counter("data", 1))
    index(bricks[0], gfid_of(path), "xattrop")


def counters_of(path):
    out = []
    for key in sorted(os.listxattr(path)):
        if key.startswith("trusted.afr."):
            value = os.getxattr(path, key)
            if value.strip(b"\0"):
                out.append(key[len("trusted.afr."):] + "=" + value.hex())
    return out


def todo(bricks):
    names = [c["name"] for c in CASES if c["healable"]] + ["sentinel%d" % n for n in range(SENTINELS)]
    left = [n for n in names for b in bricks if counters_of(os.path.join(b, n))]
    names = sorted({n for b in bricks for n in left})
    print(" ".join(names))
    sys.exit(bool(names))


def held(c, path):
    if c["kind"] == "data":
        with open(path) as f:
            text = f.read()
        return (text[0] if text else "-") if len(set(text)) < 2 else "mixed:" + text
    if c["kind"] == "meta":
        letter, mode = os.getxattr(path, "user.letter").decode(), stat.S_IMODE(os.stat(path).st_mode)
        return letter if MODES["ABC".index(letter)] == mode else "%s/%o" % (letter, mode)
    return "".join(sorted(os.listdir(path)))


def show(bricks):
    for c in CASES:
        paths = [os.path.join(b, c["name"]) for b in bricks]
        got = [held(c, p) for p in paths]
        what = (got[0] if got.count(got[0]) == N else "/".join(got)) if is_dir(c) else "".join(got)
        print(c["name"], what, *("%d:%s" % (i, x) for i, p in enumerate(paths) for x in counters_of(p)))


def expect():
    for c in CASES:
        if c["winner"] is not None:
            print(c["name"], c["winner"], c["theirs"] or c["winner"])


if __name__ == "__main__":
    args = sys.argv[2:]
    {"make": lambda: make(args[0]), "mark": lambda: mark(args), "age": lambda: age(args), "todo": lambda: todo(args),
     "sentinel": lambda: sentinel(int(args[0]), args[1:]), "show": lambda: show(args), "expect": expect}[sys.argv[1]]()
