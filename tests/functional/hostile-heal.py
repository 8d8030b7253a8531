# SPDX-License-Identifier: Apache-2.0
# Changelog attributes that nobody should ever find, written to stopped bricks with a fixed seed, and what a heal may make of them.
#   hostile-heal.py make DIR FILES DIRECTORIES   # through a mount
#   hostile-heal.py change DIR                   # through a mount with one brick down: everything gets blamed
#   hostile-heal.py spoil SEED STATE BRICK...    # contents and counters; what was done is kept in STATE
#   hostile-heal.py check STATE BRICK...         # after heals: 0, or what was overwritten that must not be
#   hostile-heal.py undecided STATE              # a path per object that no healer may touch
import json, os, random, struct, sys

MIN, MAX = -(1 << 31), (1 << 31) - 1
LENGTHS = (0, 1, 11, 13, 65536)
VOLUME = "v"


def make(top, files, dirs):
    for n in range(int(files)):
        with open("%s/f%d" % (top, n), "w") as f:
            f.write("start")
    for n in range(int(dirs)):
        os.mkdir("%s/d%d" % (top, n))
        for name in "abc":
            open("%s/d%d/%s" % (top, n, name), "w").close()


def change(top):
    for name in os.listdir(top):
        path = top + "/" + name
        if os.path.isdir(path):
            open(path + "/new", "w").close()
        else:
            with open(path, "a") as f:
                f.write("more")


def strange(rnd):
    """A value, and whether it is a counter at all."""
    dice = rnd.random()
    if dice < 0.35:
        return bytes(rnd.getrandbits(8) for _ in range(rnd.choice(LENGTHS))), False
    numbers = [rnd.choice((0, 0, 1, -1, 7, MIN, MAX, 1 << 24, rnd.randrange(MIN, MAX))) for _ in range(3)]
    return struct.pack(">3i", *numbers), True


def put(path, key, value):
    while True:
        try:
            os.setxattr(path, key, value)
            return
        except OSError:  # more than this file system keeps
            value = value[: len(value) // 2]
            if len(value) <= 13:
                raise


def keys():
    return ["trusted.afr.%s-client-%d" % (VOLUME, j) for j in range(3)] + ["trusted.afr.dirty"]


def objects(brick):
    return sorted(n for n in os.listdir(brick) if n[0] in "fd" and n[1:].isdigit())


def held(path):
    if os.path.isdir(path):
        return " ".join(sorted(os.listdir(path)))
    with open(path) as f:
        return f.read()


def counters(path):
    out = []
    for key in keys():
        try:
            out.append(os.getxattr(path, key))
        except OSError:
            out.append(None)
    return out


def spoil(seed, state, bricks):
    rnd, kept = random.Random(int(seed)), {}
    for name in objects(bricks[0]):
        if name in ("f0", "d0"):  # what accused a copy is cut short, and nothing else shows it
            for brick in bricks[:2]:
                os.setxattr(brick + "/" + name, keys()[2], bytes(1))
        for i in rnd.sample(range(3), 0 if name in ("f0", "d0") else rnd.randrange(1, 4)):
            for key in rnd.sample(keys(), rnd.randrange(1, 5)):
                put(bricks[i] + "/" + name, key, strange(rnd)[0])
        copies = []
        same_size = name == "f0" or rnd.random() < 0.5
        for i, brick in enumerate(bricks):
            path = brick + "/" + name
            if os.path.isfile(path):
                with open(path, "w") as f:
                    f.write("ABC"[i] * (6 if same_size else rnd.randrange(0, 9)))
            else:
                os.chmod(path, 0o755)
            values = counters(path)
            copies.append(dict(held=held(path), broken=any(v is not None and len(v) != 12 for v in values),
                               data=[struct.unpack(">3i", v)[0] if v and len(v) == 12 else 0 for v in values]))
        kept[name] = copies
    with open(state, "w") as f:
        json.dump(kept, f)


def good_copies(copies):
    """Rules 1 to 4 for data. None: nothing may be changed."""
    if any(c["broken"] for c in copies):
        return None
    heard = [i for i in range(3) if not copies[i]["data"][i]]
    accusers = [sum(1 for i in heard if copies[i]["data"][j]) for j in range(3)]
    if 0 in accusers:
        return [j for j in range(3) if accusers[j] == 0]
    if all(c["held"] == "" for c in copies):
        return [0, 1, 2]
    return [j for j in range(3) if accusers[j] < 2] or None


def check(state, bricks):
    wrong, healed = [], 0
    with open(state) as f:
        kept = json.load(f)
    for name, copies in kept.items():
        now = [held(b + "/" + name) for b in bricks]
        before = [c["held"] for c in copies]
        healed += now != before
        if name[0] == "d":
            if any(c["broken"] for c in copies) and now != before:
                wrong.append("%s: names changed: %s, were %s" % (name, now, before))
            continue
        good = good_copies(copies)
        if good is None:
            if now != before:
                wrong.append("%s: nobody is good, but %s, was %s" % (name, now, before))
        elif not any(now[j] == before[j] for j in good):
            wrong.append("%s: no good copy of %s is left: %s, was %s" % (name, good, now, before))
        elif any(now[j] != before[j] and now[j] not in [before[g] for g in good] for j in range(3)):
            wrong.append("%s: healed from one that is not good (%s): %s, was %s" % (name, good, now, before))
    print("%d of %d objects were healed" % (healed, len(kept)), *wrong, sep="\n")
    sys.exit(bool(wrong))


def undecided(state):
    with open(state) as f:
        for name, copies in json.load(f).items():
            if any(c["broken"] for c in copies):
                print("/" + name)


{"make": make, "change": change, "spoil": lambda seed, state, *b: spoil(seed, state, b), "check": lambda state, *b: check(state, b),
 "undecided": undecided}[sys.argv[1]](*sys.argv[2:])
