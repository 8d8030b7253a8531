#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Two mounts of one volume whose bricks tell what changes. Both let the kernel keep what it knows for a minute, so all they see of each
# other in time is what they were told.
. "$(dirname "$0")/lib.sh"
require_root
require_fuse
start_glusterishd >/dev/null
must "a volume is there" start_volume told 3
must "its bricks tell" gi volume set told features.cache-invalidation on
must "and do not wait" gi volume set told features.cache-invalidation-strict off
a=$WORK/a b=$WORK/b
must "it is mounted" mount_volume told "$a" --attribute-timeout=60 --entry-timeout=60
must "and a second time" mount_volume told "$b" --attribute-timeout=60 --entry-timeout=60
echo "OLD CONTENT" >"$a/f"
mkdir "$a/d"
touch "$a/d/old" "$a/d/gone" "$a/d/over"

run timeout 60 python3 - "$a" "$b" <<'PY'
import os, sys, time
a, b = sys.argv[1:]
LOOKS = 20
worst = asked = 0

def soon(what, seen):
    """What a brick tells, it tells before it answers what is asked after the change. So it is seen after a question or two to all of them;
    the others, with breaks from the first twenty on, are for a busy machine, where a thread that has the kernel let go of what it knows may
    have to wait for a processor."""
    global worst, asked
    for looks in range(10 * LOOKS):
        if looks > LOOKS:
            time.sleep(0.05)
        if seen():
            worst = max(worst, looks)
            print("ok", what)
            return
        asked += 1
        there("%s/nobody-has-this-name-%d" % (b, asked))
    print("WRONG", what)

def there(path):
    try:
        os.stat(path)
        return True
    except FileNotFoundError:
        return False

held = os.open(b + "/f", os.O_RDONLY)
content = lambda: os.pread(held, 100, 0)
def know():
    content(); os.fstat(held); os.stat(b + "/f")
    for n in ("old", "gone", "over", "new", "made"):
        there(b + "/d/" + n)
    os.listdir(b + "/d")

know()
with open(a + "/f", "r+") as f:
    f.write("NEW")
soon("content", lambda: content() == b"NEW CONTENT\n")
know()
with open(a + "/f", "a") as f:
    f.write("more\n")
soon("size of a descriptor", lambda: os.fstat(held).st_size == 17)
soon("size by name", lambda: os.stat(b + "/f").st_size == 17)
soon("what was appended", lambda: content() == b"NEW CONTENT\nmore\n")
know()
os.chmod(a + "/f", 0o600)
soon("mode", lambda: os.fstat(held).st_mode & 0o777 == 0o600)
know()
os.truncate(a + "/f", 3)
soon("truncation", lambda: os.stat(b + "/f").st_size == 3 and content() == b"NEW")
know()
os.setxattr(a + "/f", "user.x", b"1")
now = os.stat(a + "/f").st_ctime_ns
soon("ctime after an attribute", lambda: os.fstat(held).st_ctime_ns == now)
know()
os.unlink(a + "/d/gone")
soon("a name that went", lambda: not there(b + "/d/gone"))
know()
os.rename(a + "/d/old", a + "/d/new")
soon("a name that moved", lambda: there(b + "/d/new") and not there(b + "/d/old"))
know()
os.link(a + "/f", a + "/d/made")
soon("a name that was made", lambda: there(b + "/d/made") and os.stat(b + "/f").st_nlink == 2)
know()
before = os.stat(b + "/d/over").st_ino
os.rename(a + "/d/new", a + "/d/over")
soon("a name that leads to another", lambda: os.stat(b + "/d/over").st_ino != before)
soon("a listing", lambda: sorted(os.listdir(b + "/d")) == ["made", "over"])
know()
os.unlink(a + "/d/made")
soon("one of two names", lambda: not there(b + "/d/made") and os.stat(b + "/f").st_nlink == 1)
print("# worst: seen after %d questions" % worst)
PY
note "$OUTPUT"
is "$(grep -v '^ok\|^#' <<<"$OUTPUT")" "" "each change is seen by the other mount after a few round trips"
is "$(grep -c '^ok' <<<"$OUTPUT")" 13 "all of them"

# Now a change that has been answered is seen, and nobody has to wait until it is.
in_force() { grep -c 'options of the new volfile are in force' "$WORK"/d/log/bricks/*told-"$1".log; }
before=($(in_force 1) $(in_force 2) $(in_force 3))
bricks_know() { for n in 1 2 3; do [ "$(in_force $n)" -gt "${before[n - 1]}" ] || return 1; done; }
ok "changes wait until they are seen" gi volume set told features.cache-invalidation-strict on
ok "as bricks know" within 10 bricks_know
run timeout 60 python3 - "$a" "$b" <<'PY'
import os, sys
a, b = sys.argv[1:]
held = os.open(b + "/f", os.O_RDONLY)
writer = os.open(a + "/f", os.O_RDWR)
wrong = 0
for i in range(25):
    os.fstat(held); os.stat(b + "/f"); os.pread(held, 10, 0); os.path.exists(b + "/d/name")
    os.pwrite(writer, b"%09d" % i, 0)
    os.fdatasync(writer) # write-behind answers before the bricks have it
    wrong += os.pread(held, 9, 0) != b"%09d" % i
    os.ftruncate(writer, 100 + i)
    wrong += os.fstat(held).st_size != 100 + i
    os.chmod(a + "/f", 0o600 + i % 8)
    wrong += os.stat(b + "/f").st_mode & 0o777 != 0o600 + i % 8
    open(a + "/d/name", "w").close() if i % 2 == 0 else os.unlink(a + "/d/name")
    wrong += os.path.exists(b + "/d/name") != (i % 2 == 0)
print("wrong:", wrong)
PY
is "$OUTPUT" "wrong: 0" "each change that was answered is seen"
# Both change one file at once: neither waits in vain for the other.
together() {
  for m in "$a" "$b"; do
    (for _ in $(seq 25); do echo "a line of some length" >>"$m/log"; done) &
  done
  wait
  [ "$(stat -c %s "$a/log")" = 1100 ]
}
ok "two change a file at once" together
upcalls() { gi metrics told | awk -v name="^glusterish_features_upcall_$1_total" '$0 ~ name {n += $NF} END {print n + 0}'; }
is "$(upcalls unanswered)" 0 "and nobody is waited for in vain"

# A client that is frozen is waited for by more changes than a brick serves at a time. Who has to do with other files is served.
before=($(in_force 1) $(in_force 2) $(in_force 3))
ok "changes wait for long" gi volume set told features.cache-invalidation-timeout 600
ok "as bricks know" within 10 bricks_know
c=$WORK/c
must "it is mounted a third time" mount_volume told "$c"
mkdir "$a/known" "$c/own"
echo own >"$c/own/f"
echo own >"$c/own/new"
touch "$a/known/"{1..40}
stat "$b/known/"{1..40} >/dev/null
frozen=$(pgrep -f -- "--volfile-id told .*$b\$")
already=$(upcalls waited)
must "a client is frozen" kill -STOP "$frozen"
for n in {1..40}; do truncate -s "$n" "$a/known/$n" & changes+=($!); done
all_wait() { [ $(($(upcalls waited) - already)) -ge 120 ]; }
ok "forty changes wait for it at each brick" within 60 all_wait
others() { dd if="$c/own/new" of="$c/own/f" conv=fsync,notrunc && cmp "$c/own/f" "$c/own/new" && chmod 600 "$c/own/f"; }
ok "others are served meanwhile" timeout 60 bash -c "$(declare -f others); c=$c others"
ended=0
for pid in "${changes[@]}"; do kill -0 "$pid" 2>/dev/null || ended=$((ended + 1)); done
is "$ended" 0 "and no change is answered before"
ok "it goes on" kill -CONT "$frozen"
wait "${changes[@]}"
is "$(cd "$b/known" && stat -c '%n %s' {1..40})" "$(for n in {1..40}; do echo "$n $n"; done)" "and sees what has changed"
is "$(upcalls unanswered)" 0 "which waited until then"
done_testing
