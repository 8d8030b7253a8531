/* SPDX-License-Identifier: Apache-2.0
 *
 * The few functions behind the shared value types: gfid text, inode numbers
 * and the way between struct gi_iatt and struct stat.
 */
#include "libglusterish/types.h"
#include "libglusterish/mem.h"

#include <stdio.h>
#include <sys/sysmacros.h>

_Static_assert(sizeof(struct gi_gfid) == 16, "a gfid is a UUID, on the wire and on disk");
_Static_assert(GI_UUID_TEXT == 36 + 1, "its text, and the end of the string");

const struct gi_gfid gi_gfid_none;
const struct gi_gfid gi_gfid_root = {{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}};

uint64_t
gi_gfid_ino(const struct gi_gfid *gfid)
{
  uint64_t ino = 0;
  for (int i = 8; i < 16; i++)
    ino = ino << 8 | gfid->b[i];
  return ino;
}

static bool
dash_before(int byte)
{
  return byte == 4 || byte == 6 || byte == 8 || byte == 10;
}

char *
gi_gfid_text(const struct gi_gfid *gfid, char text[GI_UUID_TEXT])
{
  static const char digits[] = "0123456789abcdef";
  char *p = text;
  for (int i = 0; i < 16; i++) {
    if (dash_before(i))
      *p++ = '-';
    *p++ = digits[gfid->b[i] >> 4];
    *p++ = digits[gfid->b[i] & 15];
  }
  *p = '\0';
  return text;
}

static int
hex_digit(char c)
{
  if (c >= '0' && c <= '9')
    return c - '0';
  if (c >= 'a' && c <= 'f')
    return c - 'a' + 10;
  if (c >= 'A' && c <= 'F')
    return c - 'A' + 10;
  return -1;
}

bool
gi_gfid_parse(const char *text, struct gi_gfid *gfid)
{
  struct gi_gfid out;
  for (int i = 0; i < 16; i++) {
    if (dash_before(i) && *text++ != '-')
      return false;
    int hi = hex_digit(text[0]);
    int lo = hi < 0 ? -1 : hex_digit(text[1]);
    if (lo < 0)
      return false;
    out.b[i] = (uint8_t)(hi << 4 | lo);
    text += 2;
  }
  if (*text != '\0')
    return false;
  *gfid = out;
  return true;
}

static struct gi_time
time_from_spec(const struct timespec *ts)
{
  return (struct gi_time){.sec = ts->tv_sec, .nsec = (uint32_t)ts->tv_nsec};
}

static struct timespec
time_to_spec(const struct gi_time *t)
{
  return (struct timespec){.tv_sec = t->sec, .tv_nsec = t->nsec};
}

void
gi_iatt_from_stat(struct gi_iatt *iatt, const struct stat *st, const struct gi_gfid *gfid)
{
  *iatt = (struct gi_iatt){
      .gfid = *gfid,
      .flags = GI_IATT_BASIC,
      .ino = gi_gfid_ino(gfid),
      .dev = st->st_dev,
      .rdev = (uint64_t)major(st->st_rdev) << 32 | minor(st->st_rdev),
      .size = (uint64_t)st->st_size,
      .blocks = (uint64_t)st->st_blocks,
      .atime = time_from_spec(&st->st_atim),
      .mtime = time_from_spec(&st->st_mtim),
      .ctime = time_from_spec(&st->st_ctim),
      .nlink = (uint32_t)st->st_nlink,
      .uid = st->st_uid,
      .gid = st->st_gid,
      .blksize = (uint32_t)st->st_blksize,
      .mode = st->st_mode,
  };
}

void
gi_iatt_to_stat(const struct gi_iatt *iatt, struct stat *st)
{
  memset(st, 0, sizeof(*st));
  st->st_dev = iatt->dev;
  st->st_ino = gi_gfid_ino(&iatt->gfid);
  st->st_rdev = makedev((unsigned)(iatt->rdev >> 32), (unsigned)iatt->rdev);
  st->st_size = (off_t)iatt->size;
  st->st_blocks = (blkcnt_t)iatt->blocks;
  st->st_atim = time_to_spec(&iatt->atime);
  st->st_mtim = time_to_spec(&iatt->mtime);
  st->st_ctim = time_to_spec(&iatt->ctime);
  st->st_nlink = iatt->nlink;
  st->st_uid = iatt->uid;
  st->st_gid = iatt->gid;
  st->st_blksize = (blksize_t)iatt->blksize;
  st->st_mode = iatt->mode;
}

bool
gi_word_in(const char *list, const char *word)
{
  size_t len = strlen(word);

  for (const char *p = list; p && *p;) {
    size_t n = strcspn(p, " ");

    if (n == len && memcmp(p, word, len) == 0)
      return true;
    p += n + (p[n] == ' ');
  }
  return false;
}

const char *
gi_owner_text(const struct gi_owner *o, char text[GI_OWNER_TEXT])
{
  GI_ASSERT(o->len <= GI_OWNER_MAX);
  text[0] = '\0';
  for (uint32_t i = 0; i < o->len; i++)
    snprintf(text + (size_t)2 * i, 3, "%02x", o->data[i]);
  return text;
}
