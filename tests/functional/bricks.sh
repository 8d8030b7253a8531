# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# What tests ask of the plain directories that bricks are.

# describe_tree DIR: one line per object: name, type, mode, owner, links of files, size of files, mtime, link target, content, xattrs of users and ACLs.
# ANY_TIME=1: not the mtime.
describe_tree() {
  python3 - "$1" <<'PY'
import errno, hashlib, os, stat, sys
BLOCK = 1 << 20
top = os.fsencode(sys.argv[1])
def data(f):  # where there are blocks that are not holes: those may be large
    at = 0
    while True:
        try:
            at = os.lseek(f.fileno(), at, os.SEEK_DATA) // BLOCK * BLOCK
        except OSError as e:
            if e.errno != errno.ENXIO:
                raise
            return
        yield at
        at += BLOCK
def show(path, rel):
    st = os.lstat(path)
    out = [rel.decode(errors="backslashreplace"), oct(st.st_mode), st.st_uid, st.st_gid]
    if rel != b"." and not os.environ.get("ANY_TIME"):
        out.append(st.st_mtime_ns)
    if stat.S_ISREG(st.st_mode):
        h = hashlib.sha256()
        with open(path, "rb", buffering=0) as f:
            for at in data(f):
                f.seek(at)
                block = f.read(BLOCK)
                if any(block):
                    h.update(b"%d:" % at + block)
        out += [st.st_size, h.hexdigest()[:16]]
    elif stat.S_ISLNK(st.st_mode):
        out.append(os.readlink(path))
    elif stat.S_ISCHR(st.st_mode) or stat.S_ISBLK(st.st_mode):
        out.append(st.st_rdev)
    for x in sorted(os.listxattr(path, follow_symlinks=False)):
        if x.startswith(("user.", "system.")):
            out.append((x, os.getxattr(path, x, follow_symlinks=False)))
    print(*out)
    if stat.S_ISDIR(st.st_mode):
        for name in sorted(os.listdir(path)):
            if not (rel == b"." and name == b".glusterfs"):
                show(path + b"/" + name, name if rel == b"." else rel + b"/" + name)
show(top, b".")
PY
}

# same_bricks A B: everything but times of directories' own bookkeeping: describe_tree plus gfids and time attributes.
same_bricks() {
  local a b
  a=$(describe_tree "$1" && gfids "$1") && b=$(describe_tree "$2" && gfids "$2") || return 1
  [ "$a" = "$b" ] || { diff <(echo "$a") <(echo "$b") | head -n 20; return 1; }
}

# gfids DIR: path, gfid and time attribute of every object, but for the flags in that, which are a brick's own.
gfids() {
  (cd "$1" && find . -path ./.glusterfs -prune -o -print0 | LC_ALL=C sort -z | xargs -0 getfattr -h -d -m '^trusted\.(gfid$|glusterfs\.mdata)' -e hex 2>/dev/null) |
    sed -E 's/^(trusted\.glusterfs\.mdata=0x01).{16}/\1/'
}

# marks DIR: objects whose changelog attributes are not all zero.
marks() {
  (cd "$1" && find . -path ./.glusterfs -prune -o -print0 | xargs -0 getfattr -h -d -m '^trusted\.afr\.' -e hex 2>/dev/null |
    awk '/^# file: / {file = substr($0, 9)} /^trusted\.afr\./ && $0 !~ /=0x0+$/ {print file, $0}')
}

# handles_complete DIR: every object has its gfid handle: a hard link, or for directories a symbolic link that leads back to it.
handles_complete() {
  python3 - "$1" <<'PY'
import os, stat, sys, uuid
top = sys.argv[1]
bad = []
def check(path):
    st = os.lstat(path)
    g = str(uuid.UUID(bytes=os.getxattr(path, "trusted.gfid", follow_symlinks=False)))
    handle = "%s/.glusterfs/%s/%s/%s" % (top, g[:2], g[2:4], g)
    try:
        h = os.lstat(handle)
    except OSError as e:
        bad.append("%s: no handle: %s" % (path, e))
        return
    if stat.S_ISDIR(st.st_mode):
        if not stat.S_ISLNK(h.st_mode) or not os.path.samefile(handle, path):
            bad.append("%s: handle %s does not lead to it" % (path, handle))
    elif (h.st_ino, h.st_dev) != (st.st_ino, st.st_dev):
        bad.append("%s: handle %s is another file" % (path, handle))
for base, dirs, files in os.walk(top):
    if base == top:
        dirs.remove(".glusterfs")
    for name in dirs + files:
        check(os.path.join(base, name))
print("\n".join(bad))
sys.exit(1 if bad else 0)
PY
}
