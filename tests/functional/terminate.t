#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A mount that is told to end waits until a slow brick has what was written; told again, it gives that up and says so.
. "$(dirname "$0")/lib.sh"
require_root
require_fuse
make_work
PIDS=()
trap 'end_processes "${PIDS[@]}"; cleanup' EXIT
fs() { "$GLUSTERISHFS" -l "$WORK/$1.log" -p "$WORK/$1.pid" "${@:2}" && PIDS+=("$(cat "$WORK/$1.pid")"); }

mkdir "$WORK/brick" "$WORK/patient" "$WORK/hasty"
cat >"$WORK/brick.vol" <<END
volume t-posix
    type storage/posix
    option directory $WORK/brick
end-volume
volume t-slow
    type debug/delay-gen
    option delay-duration 20000000
    option delay-percentage 100
    option enable WRITE
    subvolumes t-posix
end-volume
volume $WORK/brick
    type features/locks
    subvolumes t-slow
end-volume
volume t-server
    type protocol/server
    option transport.socket.bind-address 127.0.0.1
    subvolumes $WORK/brick
end-volume
END
must "a brick that takes 20 seconds for a write" fs brick -f "$WORK/brick.vol" --brick-name "$WORK/brick" --process-name brick
port=$(grep -o 'listening on port [0-9]*' "$WORK/brick.log" | grep -o '[0-9]*$')
cat >"$WORK/client.vol" <<END
volume t-client-0
    type protocol/client
    option remote-host 127.0.0.1
    option remote-port $port
    option remote-subvolume $WORK/brick
    option ping-timeout 600
end-volume
volume t-write-behind
    type performance/write-behind
    subvolumes t-client-0
end-volume
END
# The file stays open.
writer='
import os, sys, time
os.makedirs(sys.argv[1], exist_ok=True)
fd = os.open(sys.argv[1] + "/" + sys.argv[2], os.O_CREAT | os.O_RDWR)
os.fstat(fd)
os.write(fd, b"of " + sys.argv[2].encode())
print("written", flush=True)
time.sleep(60)
'
declare -A mounts
for m in patient hasty; do
  MOUNTS+=("$WORK/$m")
  must "a mount of it ($m)" fs $m -f "$WORK/client.vol" "$WORK/$m"
  python3 -c "$writer" "$WORK/$m/d" "$m" >"$WORK/$m.out" &
  PIDS+=($!)
  ok "what is written to a file there is answered at once ($m)" within 15 grep -q written "$WORK/$m.out"
  mounts[$m]=$(cat "$WORK/$m.pid")
  kill "${mounts[$m]}"
done
# From here on the brick takes no write, however long the next steps take.
kill -STOP "$(cat "$WORK/brick.pid")"
named() { grep -q "d/$1" "$WORK/$1.log"; }
ok "the log names the file that it waits for" within 60 named hasty
kill "${mounts[hasty]}"
ok "told again it ends" within 60 not_running "${mounts[hasty]}"
kill -CONT "$(cat "$WORK/brick.pid")"
like "$(cat "$WORK/hasty.log")" 'given up: 1 writes' "and says that something may be lost"
ok "told once it waits" within 60 not_running "${mounts[patient]}"
is "$(cat "$WORK/brick/d/patient")" "of patient" "until the brick has the data"
nok "and gives nothing up" grep -q "given up" "$WORK/patient.log"
like "$(cat "$WORK/patient.log")" "still waiting for the bricks to take 1 writes" "it says that it waits"
done_testing
