#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# References lead somewhere: sections of doc/spec that code, tests and documents name, decisions, and links between documents.
set -u
cd "${GLUSTERISH_SRCDIR:?}" || exit 1
. "${GLUSTERISH_SRCDIR:?}/tests/tap.sh"

texts() {
  find libglusterish rpc xlators programs tests doc extras -type f \
    \( -name '*.[ch]' -o -name '*.t' -o -name '*.sh' -o -name '*.md' -o -name '*.py' -o -name '*.inc' \) | sort
  ls ./*.md
}

echo "1..5"
# "wire.md 3.6", also with "section", several after one name ("brick.md 5.1, 5.4 and 9.2 to 9.4"), or broken over two lines of a comment;
# within a file of doc/spec also "§3.6".
none "every section that is named exists in doc/spec" "$(texts | xargs perl -e '
  undef $/;
  for (glob("doc/spec/*.md")) {
    my ($name) = m{([^/]+)$};
    open(my $f, "<", $_) or die;
    my $text = <$f>;
    $has{$name}{$1} = 1 while $text =~ /^###? (?:Appendix )?([0-9A-Z]+(?:\.[0-9]+)*)[. ]/mg;
    $has{$name}{$1} = 1 while $text =~ /^(\d+\.\d+) /mg; # numbered paragraphs
    $spec{$name} = 1;
  }
  for $file (@ARGV) {
    open(my $f, "<", $file) or next;
    my $text = <$f>;
    my ($own) = $file =~ m{^doc/spec/(.+)$};
    while ($text =~ m{(?<![\w-])((?:wire|brick|replicate|volfile|cli|fuse|leases|mgmt-protocol|volume-options|distribute|performance-translators|pgbench|etcd)\.(?:md|csv))(?![\w/])((?:[\s*#>/]+(?:sections?\s|§)?|,\s*)\d[\d.]*(?:(?:,| and| to|-)[\s*#>/]+(?:section\s|§)?\d[\d.]*)*)?}g) {
      my ($name, $list) = ($1, $2 // "");
      my $line = 1 + (substr($text, 0, $-[0]) =~ tr/\n//);
      print "$file:$line: there is no doc/spec/$name\n" unless $spec{$name} || $name =~ /csv$/ && -e "doc/spec/$name";
      while ($list =~ /(\d+(?:\.\d+)*)/g) {
        print "$file:$line: $name has no section $1\n" unless $has{$name}{$1};
      }
    }
    next unless $own && $has{$own};
    while ($text =~ /(?:§\s?|(?<!md )(?<!RFC 4506 )\bsections? )(\d+(?:\.\d+)*)/g) {
      my $line = 1 + (substr($text, 0, $-[0]) =~ tr/\n//);
      print "$file:$line: no section $1\n" unless $has{$own}{$1};
    }
  }')"
none "every decision that is named exists" "$(texts | xargs grep -noE 'doc/decisions/[0-9]{4}|\bdecisions? [0-9]+\b' | while IFS=: read -r file line ref; do
  number=$(printf '%04d' "$((10#$(grep -oE '[0-9]+$' <<<"$ref")))")
  ls doc/decisions/"$number"-*.md >/dev/null 2>&1 || echo "$file:$line: $ref"
done)"
none "every file of doc that is named exists" "$(texts | xargs grep -noE '\bdoc/[a-z][a-z0-9./-]*\.(md|csv|8)\b' | while IFS=: read -r file line ref; do
  [ -e "$ref" ] || echo "$file:$line: $ref"
done)"
none "every link between documents leads to a file" "$(texts | grep '\.md$' | xargs grep -noE '\]\([A-Za-z0-9_-]*[./][A-Za-z0-9._/-]*' | while IFS=: read -r file line ref; do
  [ -e "$(dirname "$file")/${ref#](}" ] || echo "$file:$line: ${ref#](}"
done)"
none "every function that the architecture names exists" "$(grep -oE '`[a-z_]+\(\)`' doc/architecture.md | tr -d '`()' | sort -u | while read -r name; do
  grep -rqE "^([a-z].* \**)?$name\(" --include='*.c' libglusterish rpc xlators tests || echo "$name"
done)"
