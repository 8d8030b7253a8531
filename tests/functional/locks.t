#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Locks of applications on two mounts: they outlive restarts of the bricks one after the other; when all drop them at once the
# descriptor says so; and only root clears them.
. "$(dirname "$0")/lib.sh"
require_root
require_fuse
start_glusterishd
must "the volume starts" start_volume locks 3
must "it mounts" mount_volume locks "$WORK/a"
must "and once more" mount_volume locks "$WORK/b"

# A process that takes a lock on the file and then obeys, one word a line: write, quit. It answers with the result.
cat >"$WORK/holder.py" <<'PY'
import errno, fcntl, os, sys
how, path = sys.argv[1:]
fd = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
try:
    (fcntl.flock if how == "flock" else fcntl.lockf)(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    print("locked", flush=True)
except OSError as e:
    print(errno.errorcode[e.errno], flush=True)
for line in sys.stdin:
    if line.strip() == "quit":
        break
    try:
        os.pwrite(fd, b"x", 0)
        print("wrote", flush=True)
    except OSError as e:
        print(errno.errorcode[e.errno], flush=True)
PY

tell() { # tell WORD: to the holder; its answer
  local answer
  echo "$1" >&"${HOLDER[1]}"
  read -r answer <&"${HOLDER[0]}"
  echo "$answer"
}

try() { python3 "$WORK/holder.py" "$1" "$WORK/b/$1" </dev/null; }

all_reached() { # all three bricks are in use again on the mount whose log this is
  [ "$(grep -c 'attached to' "$1")" -ge "$2" ]
}

restart_brick() {
  local pid
  pid=$(brick_pid locks "$WORK/bricks/locks-$1")
  kill -9 "$pid"
  within 10 not_running "$pid"
  gi volume start locks force
}

reached=3
for how in lockf flock; do
  coproc HOLDER { python3 "$WORK/holder.py" $how "$WORK/a/$how"; }
  holder=$HOLDER_PID
  read -r answer <&"${HOLDER[0]}"
  is "$answer" locked "$how: a lock is taken"
  is "$(try $how)" EAGAIN "$how: others are refused"
  bricks="1 2 3"
  [ $how = flock ] && bricks="1 2" # no majority is left that was not restarted
  for n in $bricks; do
    ok "$how: brick $n is restarted" restart_brick $n
    reached=$((reached + 1))
    ok "$how: the mounts are back" within 10 all_reached "$WORK/mount-a.log" $reached
    within 10 all_reached "$WORK/mount-b.log" $reached
  done
  is "$(try $how)" EAGAIN "$how: others are still refused"
  is "$(tell write)" wrote "$how: the holder goes on"
  [ $how = flock ] && break
  echo quit >&"${HOLDER[1]}"
  wait "$holder"
  is "$(try $how)" locked "$how: it is free when its holder has ended"
done

is "$(python3 "$WORK/holder.py" lockf "$WORK/b/flock" </dev/null)" locked "a lock of flock keeps nobody from one of fcntl"
# Each mount has a byte, and both want the other's: one is told, the other goes on when that one ends.
is "$(python3 - "$WORK/a/dead" "$WORK/b/dead" <<'EOF'
import errno, fcntl, os, sys
there, here = os.pipe(), os.pipe()
child = os.fork()
f = os.open(sys.argv[2 if child else 1], os.O_RDWR | os.O_CREAT)
if not child:
    fcntl.lockf(f, fcntl.LOCK_EX, 1, 0)
    os.write(here[1], b"x")
else:
    os.read(here[0], 1)
    fcntl.lockf(f, fcntl.LOCK_EX, 1, 1)
    os.write(there[1], b"x")
if not child:
    os.read(there[0], 1)
try:
    fcntl.lockf(f, fcntl.LOCK_EX, 1, 1 if not child else 0)
    said = 0
except OSError as e:
    said = e.errno
os.close(f)
if not child:
    os._exit(said)
others = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
print("told" if sorted((said, others)) == [0, errno.EDEADLK] else (said, others))
EOF
)" told "of two that wait for each other one is told"

chmod 711 "$WORK"
chmod 644 "$WORK/a/flock"
nok "who is not root clears no locks" python3 -c '
import os, sys
os.setgroups([]); os.setgid(65534); os.setuid(65534)
os.getxattr(sys.argv[1], "glusterfs.clrlk.tposix.kall")' "$WORK/b/flock"
like "$OUTPUT" "not permitted" "and is told so"
is "$(try flock)" EAGAIN "so they are still there"

pids=$(for n in 1 2 3; do brick_pid locks "$WORK/bricks/locks-$n"; done)
kill -9 $pids
for pid in $pids; do within 10 not_running "$pid"; done
ok "all bricks are restarted at once" gi volume start locks force
reached=$((reached + 3))
within 10 all_reached "$WORK/mount-a.log" $reached
within 10 all_reached "$WORK/mount-b.log" $reached
is "$(tell write)" EBADFD "the descriptor says that its lock kept nobody out"
echo quit >&"${HOLDER[1]}"
wait "$holder"
is "$(try flock)" locked "and it is free when its holder has ended"
done_testing
