# SPDX-License-Identifier: Apache-2.0
# Load with a memory: writes blocks and names through a mount, notes what may be on disk (what was acknowledged, plus attempts
# that failed), and later checks mounts or bricks against it.
#   writer.py write DIR STATE SECONDS [STOP]: for so long, or until there is a file STOP
#   writer.py check STATE DIR...
import json, os, random, struct, sys, time

BLOCK, BLOCKS, FILES, NAMES = 4096, 64, 4, 20


def write(directory, state, seconds, stop=None):
    rnd, version, errors, longest = random.Random(1), 0, {}, 0.0
    names = ["f%d" % i for i in range(FILES)]
    fds = {n: os.open(directory + "/" + n, os.O_RDWR | os.O_CREAT, 0o644) for n in names}
    blocks, entries = {n: {} for n in names}, {}

    def one():
        n, b, dice = rnd.choice(names), rnd.randrange(BLOCKS), rnd.random()
        e = "e%d" % rnd.randrange(NAMES)
        if dice < 0.8:
            blocks[n].setdefault(b, {0}).add(version)
            os.pwrite(fds[n], struct.pack(">Q", version) * (BLOCK // 8), b * BLOCK)
            blocks[n][b] = {version}
        elif dice < 0.88:
            os.fsync(fds[n])
        elif dice < 0.94:
            entries.setdefault(e, {False}).add(True)
            os.close(os.open(directory + "/" + e, os.O_RDWR | os.O_CREAT, 0o644))
            entries[e] = {True}
        else:
            entries.setdefault(e, {False}).add(False)
            try:
                os.unlink(directory + "/" + e)
                entries[e] = {False}
            except FileNotFoundError:
                pass

    end = time.time() + seconds
    while time.time() < end and not (stop and os.path.exists(stop)):
        version, start = version + 1, time.time()
        try:
            one()
        except OSError as x:
            errors[x.errno] = errors.get(x.errno, 0) + 1
            time.sleep(0.02)
        longest = max(longest, time.time() - start)
    print("operations %d, errors %s, longest pause %.2f s" % (version, errors, longest))
    json.dump([{n: {b: sorted(s) for b, s in blocks[n].items()} for n in names}, {e: sorted(s) for e, s in entries.items()}],
              open(state, "w"))


def check(state, *directories):
    blocks, entries = json.load(open(state))
    bad = 0
    for d in directories:
        for n, want in blocks.items():
            with open(d + "/" + n, "rb") as f:
                for b, allowed in want.items():
                    f.seek(int(b) * BLOCK)
                    have = set(struct.unpack(">%dQ" % (BLOCK // 8), f.read(BLOCK).ljust(BLOCK, b"\0")))
                    if len(have) != 1 or have.pop() not in allowed:
                        bad += 1
                        print("wrong block", d, n, b)
        for e, allowed in entries.items():
            if os.path.exists(d + "/" + e) not in allowed:
                bad += 1
                print("wrong name", d, e)
    sys.exit(bad != 0)


if sys.argv[1] == "write":
    write(sys.argv[2], sys.argv[3], float(sys.argv[4]), *sys.argv[5:])
else:
    check(*sys.argv[2:])
