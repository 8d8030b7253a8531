/* SPDX-License-Identifier: Apache-2.0
 *
 * The name hash: see hash.h. Davies-Meyer over rounds of TEA, as every client
 * of such a volume computes it: another result puts files where nobody looks.
 */
#include "xlators/cluster/distribute/hash.h"

#include "libglusterish/mem.h"

#include <errno.h>
#include <string.h>

struct state {
  uint32_t h0, h1;
};

static void
mix(struct state *s, unsigned rounds, const uint32_t k[4])
{
  uint32_t x = s->h0, y = s->h1, sum = 0;

  for (unsigned i = 0; i < rounds; i++) {
    sum += 0x9e3779b9u;
    x += ((y << 4) + k[0]) ^ (y + sum) ^ ((y >> 5) + k[1]);
    y += ((x << 4) + k[2]) ^ (x + sum) ^ ((x >> 5) + k[3]);
  }
  s->h0 += x;
  s->h1 += y;
}

static uint32_t
word_at(const char *p)
{
  const unsigned char *b = (const unsigned char *)p;

  return (uint32_t)b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
}

uint32_t
di_hash_bytes(const char *bytes, size_t len)
{
  struct state s = {0x9464a485u, 0x542e1a94u};
  uint32_t pad = (uint32_t)len | (uint32_t)len << 8, k[4];

  pad |= pad << 16;
  for (; len >= 16; bytes += 16, len -= 16) {
    for (unsigned i = 0; i < 4; i++)
      k[i] = word_at(bytes + 4 * i);
    mix(&s, 6, k);
  }
  for (unsigned i = 0; i < 4; i++) {
    if (len >= 4) {
      k[i] = word_at(bytes);
      bytes += 4;
      len -= 4;
      continue;
    }
    k[i] = pad;
    for (; len > 0; bytes++, len--)
      k[i] = k[i] << 8 | (uint32_t)(int32_t)(signed char)*bytes;
  }
  GI_ASSERT(len == 0);
  mix(&s, 10, k);
  return s.h0 ^ s.h1;
}

/* ---- what of a name is hashed ---- */

static int
compile(regex_t *re, bool *set, const char *option, const char *text, struct gi_error *err)
{
  int rc;

  if (!text || strcmp(text, "none") == 0)
    return 0;
  rc = regcomp(re, text, REG_EXTENDED);
  if (rc == 0 && re->re_nsub >= 1) {
    *set = true;
    return 0;
  }
  if (rc == 0) {
    regfree(re);
    return gi_error_set(err, EINVAL, "option %s %s: the pattern has no group in parentheses that would be hashed", option,
                        text);
  }
  char why[128];

  regerror(rc, re, why, sizeof(why));
  return gi_error_set(err, EINVAL, "option %s %s: %s", option, text, why);
}

int
di_regex_check(const char *text, struct gi_error *err)
{
  bool set = false;
  regex_t re;

  if (compile(&re, &set, "hash-regex", text, err) < 0)
    return -1;
  if (set)
    regfree(&re);
  return 0;
}

int
di_munge_init(struct di_munge *m, const char *extra, const char *rsync, struct gi_error *err)
{
  memset(m, 0, sizeof(*m));
  m->rsync_default = !rsync;
  if (compile(&m->extra, &m->extra_set, "extra-hash-regex", extra, err) < 0)
    return -1;
  if (compile(&m->rsync, &m->rsync_set, "rsync-hash-regex", rsync, err) < 0) {
    di_munge_finish(m);
    return -1;
  }
  return 0;
}

void
di_munge_finish(struct di_munge *m)
{
  if (m->extra_set)
    regfree(&m->extra);
  if (m->rsync_set)
    regfree(&m->rsync);
  memset(m, 0, sizeof(*m));
}

struct part {
  const char *at;
  size_t len;
};

static bool
group_of(const regex_t *re, const char *name, struct part *part)
{
  regmatch_t match[2];

  if (regexec(re, name, 2, match, 0) != 0 || match[1].rm_so < 0)
    return false;
  GI_ASSERT(match[1].rm_eo >= match[1].rm_so);
  *part = (struct part){name + match[1].rm_so, (size_t)(match[1].rm_eo - match[1].rm_so)};
  return true;
}

/* The pattern ^\.(.+)\.[^.]+$ by hand: it is tried on every name. */
static bool
rsync_part(const char *name, struct part *part)
{
  const char *dot = strrchr(name, '.');

  if (name[0] != '.' || dot < name + 2 || dot[1] == '\0')
    return false;
  *part = (struct part){name + 1, (size_t)(dot - name - 1)};
  return true;
}

uint32_t
di_hash_name(const struct di_munge *m, const char *name)
{
  struct part part;

  if (m->extra_set && group_of(&m->extra, name, &part))
    return di_hash_bytes(part.at, part.len);
  if (m->rsync_default ? rsync_part(name, &part) : m->rsync_set && group_of(&m->rsync, name, &part))
    return di_hash_bytes(part.at, part.len);
  return di_hash_bytes(name, strlen(name));
}
