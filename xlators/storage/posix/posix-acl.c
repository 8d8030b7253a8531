/* SPDX-License-Identifier: Apache-2.0
 *
 * ACLs as text, "u::rw-,u:1000:r--,m::r--,…" (words in full are understood), and
 * in the kernel's little-endian form.
 */
#include "xlators/storage/posix/posix.h"

#define ACL_VERSION 2
#define ACL_ENTRIES_MAX 512

static const struct {
  uint16_t tag;
  const char *word;
  bool named;
} acl_tags[] = {{0x01, "user", false}, {0x02, "user", true},  {0x04, "group", false},
                {0x08, "group", true}, {0x10, "mask", false}, {0x20, "other", false}};

static uint32_t
le(const uint8_t *b, int n)
{
  uint32_t v = 0;

  while (n--)
    v = v << 8 | b[n];
  return v;
}

static void
put_le(uint8_t *b, uint32_t v, int n)
{
  for (int i = 0; i < n; i++)
    b[i] = (uint8_t)(v >> (8 * i));
}

static int
tag_index(uint16_t tag)
{
  for (size_t i = 0; i < GI_ARRAY_LEN(acl_tags); i++) {
    if (acl_tags[i].tag == tag)
      return (int)i;
  }
  return -1;
}

bool
posix_acl_to_text(const void *data, size_t len, char **text)
{
  const uint8_t *b = data;
  char *sum = NULL;

  if (len < 4 || (len - 4) % 8 || le(b, 4) != ACL_VERSION)
    return false;
  for (const uint8_t *e = b + 4; e < b + len; e += 8) {
    int i = tag_index((uint16_t)le(e, 2));
    uint32_t perm = le(e + 2, 2);
    char id[16] = "";

    if (i < 0) {
      gi_free(sum);
      return false;
    }
    if (acl_tags[i].named)
      snprintf(id, sizeof(id), "%u", le(e + 4, 4));

    char *longer = gi_asprintf("%s%s%c:%s:%c%c%c", sum ? sum : "", sum ? "," : "", acl_tags[i].word[0], id,
                               perm & 4 ? 'r' : '-', perm & 2 ? 'w' : '-', perm & 1 ? 'x' : '-');

    gi_free(sum);
    sum = longer;
  }
  *text = sum ? sum : gi_strdup("");
  return true;
}

/* One "tag:id:perms" of `len` bytes; words may be cut short (u, g, m, o). */
static bool
parse_acl_entry(const char *s, size_t len, uint8_t out[8])
{
  const char *id = memchr(s, ':', len), *perm = id ? memchr(id + 1, ':', len - (size_t)(id + 1 - s)) : NULL;
  size_t word = id ? (size_t)(id - s) : 0;
  uint32_t bits = 0, number = UINT32_MAX;
  bool named;

  if (!perm || !word)
    return false;
  named = perm > id + 1;
  for (const char *c = id + 1; c < perm; c++) {
    if (*c < '0' || *c > '9' || perm - id > 11)
      return false;
    number = (c == id + 1 ? 0 : number * 10) + (uint32_t)(*c - '0');
  }
  for (const char *c = perm + 1; c < s + len; c++) {
    if (!strchr("rwx-", *c))
      return false;
    bits |= *c == 'r' ? 4 : *c == 'w' ? 2 : *c == 'x' ? 1 : 0;
  }
  for (size_t i = 0; i < GI_ARRAY_LEN(acl_tags); i++) {
    if (acl_tags[i].named != named || word > strlen(acl_tags[i].word) || memcmp(s, acl_tags[i].word, word) != 0)
      continue;
    put_le(out, acl_tags[i].tag, 2);
    put_le(out + 2, bits, 2);
    put_le(out + 4, number, 4);
    return true;
  }
  return false;
}

bool
posix_acl_from_text(const char *text, void **data, size_t *len)
{
  uint8_t *b = gi_zalloc(4 + 8 * ACL_ENTRIES_MAX);
  size_t n = 0;

  put_le(b, ACL_VERSION, 4);
  while (*text) {
    size_t item = strcspn(text, ", \t\n");

    if (item && (n == ACL_ENTRIES_MAX || !parse_acl_entry(text, item, b + 4 + 8 * n++))) {
      gi_free(b);
      return false;
    }
    text += item;
    text += strspn(text, ", \t\n");
  }
  if (n == 0) {
    gi_free(b);
    return false;
  }
  *data = b;
  *len = 4 + 8 * n;
  return true;
}

/* Without an ACL it is what the mode says; no default ACL is an empty one. */
int
posix_acl_text(const struct posix *p, struct posix_at at, const struct stat *st, bool access, char **text)
{
  GI_CLEANUP_FREE char *acl = NULL;
  mode_t m = st->st_mode;
  ssize_t n;

  if (S_ISLNK(m) || (!access && !S_ISDIR(m)))
    return ENODATA;
  n = posix_at_get_alloc(p, at, access ? KEY_ACL_ACCESS : KEY_ACL_DEFAULT, &acl);
  if (n >= 0)
    return posix_acl_to_text(acl, (size_t)n, text) ? 0 : EIO;
  if (errno != ENODATA)
    return errno;
  *text = !access ? gi_strdup("")
                  : gi_asprintf("u::%c%c%c,g::%c%c%c,o::%c%c%c", m & 0400 ? 'r' : '-', m & 0200 ? 'w' : '-',
                                m & 0100 ? 'x' : '-', m & 040 ? 'r' : '-', m & 020 ? 'w' : '-', m & 010 ? 'x' : '-',
                                m & 04 ? 'r' : '-', m & 02 ? 'w' : '-', m & 01 ? 'x' : '-');
  return 0;
}
