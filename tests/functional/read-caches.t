#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What io-cache, read-ahead and readdir-ahead save: requests that a brick sees, with and without them, past the kernel's page cache and through
# it. They are switched on and off under a reader that knows what every byte must be.
. "$(dirname "$0")/lib.sh"
require_root
require_fuse
start_glusterishd
must "the volume starts" start_volume r 1
must "its brick counts" gi volume set r diagnostics.count-fop-hits on
M=$WORK/direct B=$WORK/buffered
must "it mounts past the page cache" mount_volume r "$M" --direct-io-mode=enable
must "and through it" mount_volume r "$B"

has_new_dump() { grep -qs '^DUMP-END-TIME' "$WORK"/d/run/*.dump.*; }

# seen KIND: how many of them the brick has seen.
seen() {
  rm -f "$WORK"/d/run/*.dump.*
  gi volume statedump r >/dev/null
  within 10 has_new_dump
  cat "$WORK"/d/run/*.dump.* | sed -n "s/.*[.]$1=AVG.*CNT:\([0-9]*\) .*/\1/p" | head -n 1
}

# costs KIND COMMAND...: how many the command makes the brick see.
costs() {
  local kind=$1 before
  shift
  before=$(seen "$kind")
  "$@" >/dev/null 2>&1 || return 1
  echo $(($(seen "$kind") - ${before:-0}))
}

read_small() {
  dd of="$1/data" oflag=nocache conv=notrunc,fdatasync count=0 # nothing of it stays in the page cache
  dd if="$1/data" of=/dev/null bs=8k
}
read_again() { dd if="$M/data" of=/dev/null bs=8k count=64; dd if="$M/data" of=/dev/null bs=8k count=64; }
# A reader with a small buffer, for which the kernel asks for little at a time.
list() {
  python3 - "$M/many" <<'PY'
import ctypes, os, sys
libc, room = ctypes.CDLL(None, use_errno=True), ctypes.create_string_buffer(4096)
libc.syscall.restype = ctypes.c_long
fd = os.open(sys.argv[1], os.O_RDONLY | os.O_DIRECTORY)
getdents64 = 217 if os.uname().machine == "x86_64" else 61
while (n := libc.syscall(ctypes.c_long(getdents64), fd, room, ctypes.c_ulong(len(room)))) > 0:
    pass
sys.exit(n != 0)
PY
}

head -c 4194304 /dev/urandom >"$WORK/data"
cp "$WORK/data" "$M/data"
mkdir "$M/many"
(cd "$M/many" && seq -f name-%g 1500 | xargs touch)

without=$(costs READ read_small "$M") listed=$(costs READDIRP list) kernels=$(costs READ read_small "$B")
note "a brick sees $without READs for 4 MiB in pieces of 8 KiB past the page cache, $kernels through it, $listed READDIRPs for 1500 names"
ok "without them the brick sees every READ" test "${without:-0}" -ge 512

ok "read-ahead is put in" gi volume set r performance.read-ahead on
ok "readdir-ahead is put in" gi volume set r performance.readdir-ahead on
has() { [ -e "$1/.meta/graphs/active/r-$2" ]; }
for m in "$M" "$B"; do for layer in read-ahead readdir-ahead; do ok "$layer is there in ${m##*/}" within 20 has "$m" $layer; done; done
with=$(costs READ read_small "$M") ahead=$(costs READDIRP list) buffered=$(costs READ read_small "$B")
note "with them $with READs past the page cache, $buffered through it, $ahead READDIRPs"
ok "a brick sees a READ per page" test "${with:-999}" -le 48
ok "through the page cache it costs no more than the kernel asks for" test "${buffered:-999}" -le $((kernels + 4))
ok "and far fewer requests for a listing" test "${ahead:-999}" -lt $((${listed:-0} / 2))
is "$(ls -U "$M/many" | wc -l)" 1500 "which has every name"
is "$(md5sum <"$M/data")" "$(md5sum <"$WORK/data")" "and the data is right"

# A reader and writer that knows every byte, while all three come and go.
cat >"$WORK/worker.py" <<'PY'
import os, random, sys
path, stop = sys.argv[1:]
fd, r, n = os.open(path, os.O_CREAT | os.O_RDWR, 0o644), random.Random(1), 0
model = bytearray(1 << 20)
os.pwrite(fd, model, 0)
while not os.path.exists(stop):
    at, size = r.randrange(len(model) - 40000), r.randrange(1, 40000)
    if r.random() < 0.3:
        model[at:at + size] = data = bytes([r.randrange(256)]) * size
        os.pwrite(fd, data, at)
    elif r.random() < 0.3:
        at = r.randrange(len(model) - 400000)
        for k in range(at, at + 200000, 8192):
            if os.pread(fd, 8192, k) != model[k:k + 8192]:
                sys.exit("wrong at %d" % k)
    elif os.pread(fd, size, at) != model[at:at + size]:
        sys.exit("wrong at %d" % at)
    n += 1
print(n)
PY
python3 "$WORK/worker.py" "$M/worked" "$WORK/stop" >"$WORK/count" 2>"$WORK/errors" &
io=$!
for switch in performance.io-cache\ on performance.read-ahead\ off performance.read-ahead\ on performance.readdir-ahead\ off \
  performance.client-io-threads\ on performance.io-cache\ off performance.io-cache\ on performance.client-io-threads\ off; do
  # shellcheck disable=SC2086
  ok "$switch" gi volume set r $switch
done
sleep 6
touch "$WORK/stop"
ok "the reader saw no error" wait "$io"
ok "io-cache is there" within 20 has "$M" io-cache
is "$(cat "$WORK/errors")" "" "nor a wrong byte"
note "$(cat "$WORK/count") operations"
cached=$(costs READ read_again)
note "with io-cache a brick sees $cached READs for 64 READs done twice"
ok "what was read is not read again" test "${cached:-999}" -le 64
done_testing
