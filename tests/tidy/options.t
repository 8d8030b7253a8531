#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The option tables are complete, doc/options.md says what they say, and an option that can be set has a reader.
set -u
gen=${GLUSTERISH_BUILDDIR:?}/extras/gen-option-docs

echo "1..3"
if found=$("$gen" --check 2>&1); then
  echo "ok 1 - every option is described, and its default is one it takes"
else
  echo "not ok 1 - every option is described, and its default is one it takes"
  printf '%s\n' "$found" | sed 's/^/# /'
fi
if difference=$("$gen" | diff "${GLUSTERISH_SRCDIR:?}/doc/options.md" - 2>&1); then
  echo "ok 2 - doc/options.md is up to date"
else
  echo "not ok 2 - doc/options.md is up to date (run: make options-doc)"
  printf '%s\n' "$difference" | head -n 40 | sed 's/^/# /'
fi

# A value that no line of its translator looks at must be marked as unread, so that `volume set` does not take it for nothing.
unread() {
  python3 - "$GLUSTERISH_SRCDIR" <<'PY'
import glob, os, re, sys
bad = 0
for folder in sorted(glob.glob(sys.argv[1] + "/xlators/*/*/")):
    texts = [open(f).read() for f in sorted(glob.glob(folder + "**/*.[ch]", recursive=True)) if not f.endswith("_test.c")]
    code = "\n".join(re.sub(r'"(\\.|[^"\\])*"', '""', t) for t in texts)  # names of options are no readers
    code = re.sub(r"OPT\([^)]*\)", "", code)
    marked = {m.group(1) for t in texts for m in re.finditer(r"#define (\w+)\((?:[^\n]*\\\n)*[^\n]*\.unread = true", t)}
    for table in (t for text in texts for t in re.findall(r"struct gi_option \w+\[\] = \{\n(.*?)GI_OPTION_END", text, re.S)):
        for row in re.split(r"\n(?=\s+(?:\{\.name|(?!OPT\b|IOS_OPT\b)[A-Z_]+\())", "\n" + table):
            head = row.strip()
            macro = re.match(r"[A-Z_]+", head)
            member = re.search(r"(?:OPT|offsetof)\((?:struct \w+, )?([\w.]+)\)|GI_OPT_\w+, (\w+),", row)
            if not member or not (macro or ".key =" in row):
                continue
            name = (member.group(1) or member.group(2)).split(".")[-1]
            if ".unread = true" in row or (macro and macro.group(0) in marked):
                continue
            if not re.search(r"(?:->|\.)%s\b" % name, code):
                print("%s: %s" % (os.path.relpath(folder, sys.argv[1]), head.split("\n")[0]))
                bad = 1
sys.exit(bad)
PY
}
if ! command -v python3 >/dev/null; then
  echo "ok 3 - an option that can be set has a reader # SKIP needs python3"
elif found=$(unread 2>&1); then
  echo "ok 3 - an option that can be set has a reader"
else
  echo "not ok 3 - an option that can be set has a reader, or is marked .unread"
  printf '%s\n' "$found" | sed 's/^/# /'
fi
