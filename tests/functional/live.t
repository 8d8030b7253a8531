#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The live commands on a volume that is well: doctor, why, stats, top, bundle.
. "$(dirname "$0")/lib.sh"
require_root
require_fuse
command -v jq >/dev/null || skip_all "needs jq"
start_glusterishd
must "a volume starts" start_volume live 3
must "it is mounted" mount_volume live "$WORK/mnt"
M=$WORK/mnt

echo hello >"$M/file"
mkdir "$M/dir"
exec 9<>"$M/file"
flock 9

well() { gi doctor live --json | jq -e '.processes == 5 and .status < 2'; }
ok "doctor finds no error, and has looked at all five processes" within 20 well

# why FILTER: of the file
why() { gi why "$M/file" --json | jq -r "$1"; }
is "$(why '[.volume, .path, .type, .heal.state] | join(" ")')" "live /file file none" "why knows the file by its path on the mount"
good_copies() { [ "$(why '[.copies[] | select(.there and .good and .answers)] | length')" = 3 ]; }
ok "it has three good copies" within 10 good_copies
is "$(why '[.copies[] | select(.serves_reads)] | length')" 1 "one of them serves reads"
is "$(why '[.locks[] | select(.kind == "posix" and .granted)] | length')" 3 "its lock is seen on each brick"
is "$(why '.locks[0].holder')" "mount $M of live (pid $(pgrep -f -- "--volfile-id live.*$M\$" | head -n 1))" "and whose it is"
is "$(why '.users[0].writing')" 1 "so is who has it open"
is "$(cd "$M/dir" && gi why ../file --json | jq -r .gfid)" "$(why .gfid)" "a relative path is the same file"
is "$(gi why live file --json | jq -r .gfid)" "$(why .gfid)" "and so is one from the root of the volume"
is "$(gi why live / --json | jq -r .gfid)" 00000000-0000-0000-0000-000000000001 "the root is an object, too"
like "$(gi why "$M/file")" '^Heal: none, all copies that can be seen are good$' "people can read it"
nok "what is not there" gi why "$M/none"
like "$OUTPUT" 'not there: No such file' "is told so"
nok "a path that is on no mount" gi why /etc/passwd
like "$OUTPUT" 'is on no mount of a volume' "is refused"

# A lock that waits.
flock "$M/file" true 9>&- &
waiter=$!
waits() { [ "$(why '.because | length')" -gt 0 ]; }
ok "somebody waits for the lock" within 10 waits
like "$(why '.because[].text')" "posix lock, which mount $M of live .* holds" "and why says for whom"
flock -u 9
wait $waiter

is "$(gi stats live --count 2 --interval 0.2 --json | jq -r '.seconds > 0')" $'true\ntrue' "stats tells as often as it is asked to"
is "$(gi stats live --count=1 --interval=0.2 | wc -l)" 2 "a head and a line for people"
is "$(gi top live --once --interval 0.2 --json | jq -r '.rows[].name' | grep -c "^mount $M of live")" 1 "top knows the client"
is "$(gi top live --by brick --interval 0.2 --json | jq -r '.rows | length')" 3 "and the bricks"
ok "and what is under way" gi top --by=operation --interval=0.2
nok "but nothing else" gi top --by weather
like "$OUTPUT" 'none of client, file, operation, brick' "and says so"

export TMPDIR=$WORK
ok "a bundle is made" gi bundle "$WORK/b.tar.gz" --logs "$WORK/d/log"
is "$(stat -c %a "$WORK/b.tar.gz")" 600 "for its owner alone"
mkdir "$WORK/b"
tar -xzf "$WORK/b.tar.gz" -C "$WORK/b"
ok "with the definition of the volume, what doctor found, and logs" ls "$WORK"/b/*/volume-live.vol "$WORK"/b/*/doctor.json "$WORK"/b/*/log-*
password=$(sed -n 's/^password=//p' "$WORK/d/vols/live/info")
username=$(sed -n 's/^username=//p' "$WORK/d/vols/live/info")
is "$(grep -rlF -e "${password:?}" -e "${username:?}" "$WORK/b")" "" "without password and user name of the volume"
is "$(find "$WORK" -maxdepth 1 -name 'glusterish-bundle.*')" "" "and leaves nothing behind"
done_testing
