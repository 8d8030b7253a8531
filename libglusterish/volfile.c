/* SPDX-License-Identifier: Apache-2.0
 *
 * Volfiles (volfile.md 1): a hand-written scanner, a parser of four
 * statements, and the writer.
 *
 * The text may come from a peer, so everything is bounded: its size, the
 * options of a volume, and the time, by a hash of the names.
 */
#include "libglusterish/volfile.h"
#include "libglusterish/log.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#define OPTIONS_MAX 2048u /* of one volume */
#define SHOWN 80          /* characters of a word in a message */

/* ---- words ---- */

enum token { TOK_END, TOK_WORD, TOK_VOLUME, TOK_TYPE, TOK_OPTION, TOK_SUBVOLUMES, TOK_END_VOLUME, TOK_ERROR };

static const char *const keywords[] = {
    [TOK_VOLUME] = "volume",         [TOK_TYPE] = "type", [TOK_OPTION] = "option", [TOK_SUBVOLUMES] = "subvolumes",
    [TOK_END_VOLUME] = "end-volume",
};

struct name_slot {
  struct gi_vol_node *node;
  const struct gi_vol_node *used_by; /* the last volume that lists it: finds a name listed twice */
};

struct parser {
  const char *at, *end;
  unsigned line;       /* of `at` */
  unsigned token_line; /* of the token in `word` */
  enum token token;
  char *word; /* the token's text, owned */
  size_t word_room;
  char shown[SHOWN + 4]; /* the word, fit for a message */
  struct gi_volfile *vf;
  struct gi_vol_node *node; /* the volume being read */
  struct name_slot *names;  /* open addressing */
  unsigned name_count, name_size;
  struct gi_error *err;
};

static enum token
keyword(const char *word)
{
  for (unsigned i = TOK_VOLUME; i <= TOK_END_VOLUME; i++) {
    if (strcasecmp(word, keywords[i]) == 0)
      return (enum token)i;
  }
  return TOK_WORD;
}

static bool
is_blank(char c)
{
  return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static const char *
shown(char *out, const char *word)
{
  size_t n = strnlen(word, SHOWN + 1);
  for (size_t i = 0; i < n && i < SHOWN; i++)
    out[i] = isprint((unsigned char)word[i]) ? word[i] : '?';
  memcpy(out + (n < SHOWN ? n : SHOWN), n > SHOWN ? "..." : "", n > SHOWN ? 4 : 1);
  return out;
}

static enum token
scan_error(struct parser *p, const char *what)
{
  gi_error_set(p->err, EINVAL, "line %u: %s", p->line, what);
  return p->token = TOK_ERROR;
}

static void
skip_space(struct parser *p)
{
  for (; p->at < p->end; p->at++) {
    if (*p->at == '#') {
      while (p->at < p->end && *p->at != '\n')
        p->at++;
      if (p->at == p->end)
        return;
    }
    if (!is_blank(*p->at))
      return;
    if (*p->at == '\n')
      p->line++;
  }
}

static void
word_put(struct parser *p, size_t *len, char c)
{
  if (*len + 2 > p->word_room) {
    p->word_room = p->word_room ? p->word_room * 2 : 128;
    p->word = gi_realloc(p->word, p->word_room);
  }
  p->word[(*len)++] = c;
  p->word[*len] = '\0';
}

static enum token
scan_quoted(struct parser *p)
{
  size_t len = 0;
  word_put(p, &len, '\0');
  len = 0;
  for (p->at++;; p->at++) {
    if (p->at < p->end && *p->at == '"')
      break;
    if (p->at < p->end && *p->at == '\\')
      p->at++;
    if (p->at >= p->end || *p->at == '\n')
      return scan_error(p, "a quoted word has no closing quote");
    if (*p->at == '\0')
      return scan_error(p, "NUL byte");
    word_put(p, &len, *p->at);
  }
  p->at++;
  shown(p->shown, p->word);
  return p->token = TOK_WORD;
}

static enum token
scan(struct parser *p)
{
  skip_space(p);
  p->token_line = p->line;
  if (p->at == p->end)
    return p->token = TOK_END;
  if (*p->at == '"')
    return scan_quoted(p);
  size_t len = 0;
  while (p->at < p->end && !is_blank(*p->at) && *p->at != '"') {
    if (*p->at == '\0')
      return scan_error(p, "NUL byte");
    if (*p->at == '\\')
      return scan_error(p, "a backslash outside of quotes");
    word_put(p, &len, *p->at++);
  }
  shown(p->shown, p->word);
  return p->token = keyword(p->word);
}

/* ---- names ---- */

static unsigned
name_hash(const char *name)
{
  unsigned h = 2166136261u;
  for (; *name; name++)
    h = (h ^ (unsigned char)*name) * 16777619u;
  return h;
}

static struct name_slot *
name_slot(struct parser *p, const char *name)
{
  unsigned at = name_hash(name) & (p->name_size - 1);
  GI_ASSERT(p->name_count < p->name_size && (p->name_size & (p->name_size - 1)) == 0);
  while (p->names[at].node && strcmp(p->names[at].node->name, name) != 0)
    at = (at + 1) & (p->name_size - 1);
  return &p->names[at];
}

static void
name_add(struct parser *p, struct gi_vol_node *node)
{
  if (p->name_count * 2 >= p->name_size) {
    struct name_slot *old = p->names;
    unsigned old_size = p->name_size;
    p->name_size *= 2;
    p->names = gi_zalloc(p->name_size * sizeof(*p->names));
    for (unsigned i = 0; i < old_size; i++) {
      if (old[i].node)
        *name_slot(p, old[i].node->name) = old[i];
    }
    gi_free(old);
  }
  GI_ASSERT(!name_slot(p, node->name)->node);
  name_slot(p, node->name)->node = node;
  p->name_count++;
}

/* ---- nodes ---- */

static struct gi_vol_node *
node_new(const char *name)
{
  struct gi_vol_node *n = gi_new(struct gi_vol_node);
  gi_list_init(&n->link);
  gi_list_init(&n->options);
  n->name = gi_strdup(name);
  return n;
}

static void
node_free(struct gi_vol_node *n)
{
  gi_list_foreach_safe(o, &n->options, struct gi_vol_option, link) {
    gi_free(o->name);
    gi_free(o->value);
    gi_free(o);
  }
  gi_free(n->name);
  gi_free(n->type);
  gi_free(n->sub);
  gi_free(n);
}

static struct gi_vol_option *
option_find(const struct gi_vol_node *n, const char *name)
{
  gi_list_foreach(o, &n->options, struct gi_vol_option, link) {
    if (strcmp(o->name, name) == 0)
      return o;
  }
  return NULL;
}

static struct gi_vol_option *
option_new(const char *name, const char *value)
{
  struct gi_vol_option *o = gi_new(struct gi_vol_option);
  gi_list_init(&o->link);
  o->name = gi_strdup(name);
  o->value = gi_strdup(value);
  return o;
}

/* The array grows by doubling: a power of two is full. */
static void
node_add_sub(struct gi_vol_node *n, struct gi_vol_node *sub)
{
  if ((n->nsub & (n->nsub - 1)) == 0)
    n->sub = gi_realloc(n->sub, (n->nsub ? n->nsub * 2u : 1u) * sizeof(*n->sub));
  n->sub[n->nsub++] = sub;
  sub->nparents++;
}

/* ---- statements; each returns 0, or -1 with the error set ---- */

static int
expected(struct parser *p, const char *what)
{
  char name[SHOWN + 4];
  const char *where = p->node ? shown(name, p->node->name) : NULL;
  if (p->token == TOK_ERROR)
    return -1;
  if (p->token == TOK_END)
    return gi_error_set(p->err, EINVAL, "line %u: the text ends where %s was expected%s%s%s", p->token_line, what,
                        where ? " (volume '" : "", where ? where : "", where ? "' is not closed)" : "");
  return gi_error_set(p->err, EINVAL, "line %u: '%s' found where %s was expected", p->token_line, p->shown, what);
}

static int
parse_type(struct parser *p)
{
  char name[SHOWN + 4];
  if (p->node->type)
    return gi_error_set(p->err, EINVAL, "line %u: volume '%s' has a second 'type'", p->token_line, shown(name, p->node->name));
  if (scan(p) != TOK_WORD || !p->word[0])
    return expected(p, "the type of the volume");
  p->node->type = gi_strdup(p->word);
  return 0;
}

static int
parse_option(struct parser *p, unsigned *count)
{
  char name[SHOWN + 4];
  if (scan(p) != TOK_WORD || !p->word[0])
    return expected(p, "the name of an option");
  GI_CLEANUP_FREE char *option = gi_strdup(p->word);
  if (scan(p) != TOK_WORD)
    return expected(p, "the value of an option");
  struct gi_vol_option *o = option_find(p->node, option);
  if (o) {
    gi_log(GI_LOG_WARNING, "volfile", GI_MSG_GRAPH + 90, "line %u: volume %s sets option %s again, the last value counts",
           p->token_line, p->node->name, option);
    gi_free(o->value);
    o->value = gi_strdup(p->word);
    return 0;
  }
  if (++*count > OPTIONS_MAX)
    return gi_error_set(p->err, E2BIG, "line %u: volume '%s' has more than %u options", p->token_line,
                        shown(name, p->node->name), OPTIONS_MAX);
  gi_list_add_tail(&p->node->options, &option_new(option, p->word)->link);
  return 0;
}

/* The word names no volume above. Says whether it comes later, the usual mistake in a file written by hand. */
static int
unknown_subvolume(struct parser *p)
{
  char name[SHOWN + 4];
  unsigned line = p->token_line;
  shown(name, p->node->name);
  if (strcmp(p->word, p->node->name) == 0)
    return gi_error_set(p->err, EINVAL, "line %u: volume '%s' lists itself as a subvolume", line, name);
  GI_CLEANUP_FREE char *wanted = gi_strdup(p->word);
  gi_error_set(p->err, EINVAL, "line %u: subvolume '%s' of volume '%s' is not defined", line, p->shown, name);
  char shown_name[sizeof(p->shown)];
  memcpy(shown_name, p->shown, sizeof(shown_name));
  struct gi_error *err = p->err;
  p->err = NULL; /* what is wrong further down does not matter now */
  while (scan(p) != TOK_END && p->token != TOK_ERROR) {
    if (p->token == TOK_VOLUME && scan(p) == TOK_WORD && strcmp(p->word, wanted) == 0) {
      gi_error_set(
          err, EINVAL,
          "line %u: volume '%s' lists '%s', which is defined only later, on line %u: a volume can use only volumes above it",
          line, name, shown_name, p->token_line);
      break;
    }
  }
  return -1;
}

static int
parse_subvolumes(struct parser *p)
{
  char name[SHOWN + 4];
  if (p->node->nsub > 0)
    return gi_error_set(p->err, EINVAL, "line %u: volume '%s' has a second 'subvolumes'", p->token_line,
                        shown(name, p->node->name));
  while (scan(p) == TOK_WORD) {
    struct name_slot *slot = name_slot(p, p->word);
    if (!slot->node || slot->node == p->node)
      return unknown_subvolume(p);
    if (slot->used_by == p->node)
      return gi_error_set(p->err, EINVAL, "line %u: volume '%s' lists subvolume '%s' twice", p->token_line,
                          shown(name, p->node->name), p->shown);
    slot->used_by = p->node;
    node_add_sub(p->node, slot->node);
  }
  return p->node->nsub > 0 ? 0 : expected(p, "the name of a subvolume");
}

/* One statement, or the end of the volume: *closed. The next token has been scanned on return. */
static int
parse_statement(struct parser *p, unsigned *options, bool *closed)
{
  char name[SHOWN + 4];
  if (!p->node->type && (p->token == TOK_OPTION || p->token == TOK_SUBVOLUMES || p->token == TOK_END_VOLUME))
    return gi_error_set(p->err, EINVAL, "line %u: volume '%s' has no 'type' before '%s'", p->token_line,
                        shown(name, p->node->name), p->shown);
  switch (p->token) {
  case TOK_TYPE:
    if (parse_type(p) < 0)
      return -1;
    scan(p);
    return 0;
  case TOK_OPTION:
    if (parse_option(p, options) < 0)
      return -1;
    scan(p);
    return 0;
  case TOK_SUBVOLUMES:
    return parse_subvolumes(p);
  case TOK_END_VOLUME:
    *closed = true;
    scan(p);
    return 0;
  default:
    return expected(p, "'type', 'option', 'subvolumes' or 'end-volume'");
  }
}

static int
parse_volume(struct parser *p)
{
  if (p->token != TOK_VOLUME)
    return expected(p, "'volume'");
  if (scan(p) != TOK_WORD || !p->word[0])
    return expected(p, "the name of a volume");
  if (name_slot(p, p->word)->node)
    return gi_error_set(p->err, EEXIST, "line %u: there is already a volume '%s'", p->token_line, p->shown);
  p->node = node_new(p->word);
  gi_list_add_tail(&p->vf->nodes, &p->node->link);
  name_add(p, p->node);
  scan(p);
  unsigned options = 0;
  for (bool closed = false; !closed;) {
    if (parse_statement(p, &options, &closed) < 0)
      return -1;
  }
  p->node = NULL;
  return 0;
}

struct gi_volfile *
gi_volfile_parse(const char *text, size_t len, struct gi_error *err)
{
  if (len > GI_VOLFILE_MAX) {
    gi_error_set(err, EFBIG, "line 1: a volume file of %zu bytes is larger than the limit of %u", len, GI_VOLFILE_MAX);
    return NULL;
  }
  struct parser p = {.at = text, .end = text + len, .line = 1, .err = err, .name_size = 64};
  p.names = gi_zalloc(p.name_size * sizeof(*p.names));
  p.vf = gi_volfile_new();
  scan(&p);
  int ret = p.token == TOK_END ? gi_error_set(err, EINVAL, "line %u: there is no volume in the file", p.line) : 0;
  while (ret == 0 && p.token != TOK_END)
    ret = parse_volume(&p);
  if (ret < 0)
    gi_volfile_free(&p.vf);
  gi_free(p.names);
  gi_free(p.word);
  return p.vf;
}

/* Reads all of `fd`; the limit applies to what is read, so a device or a growing file is fine. */
static char *
read_all(int fd, size_t *len, struct gi_error *err)
{
  size_t room = 64 * 1024;
  char *text = gi_alloc(room);
  *len = 0;
  for (;;) {
    ssize_t n = read(fd, text + *len, room - *len);
    if (n < 0 && errno == EINTR)
      continue;
    if (n == 0)
      return text;
    if (n < 0 || (*len += (size_t)n) > GI_VOLFILE_MAX) {
      gi_error_set(err, n < 0 ? errno : EFBIG, "%s", n < 0 ? strerror(errno) : "the file is too large for a volume file");
      gi_free(text);
      return NULL;
    }
    if (*len == room)
      text = gi_realloc(text, room *= 2);
  }
}

struct gi_volfile *
gi_volfile_load(const char *path, struct gi_error *err)
{
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) {
    gi_error_set(err, errno, "%s: %s", path, strerror(errno));
    return NULL;
  }
  size_t len;
  struct gi_volfile *vf = NULL;
  char *text = read_all(fd, &len, err);
  if (text)
    vf = gi_volfile_parse(text, len, err);
  if (!vf)
    gi_error_prefix(err, "%s", path);
  gi_free(text);
  close(fd);
  return vf;
}

/* ---- building ---- */

struct gi_volfile *
gi_volfile_new(void)
{
  struct gi_volfile *vf = gi_new(struct gi_volfile);
  gi_list_init(&vf->nodes);
  return vf;
}

void
gi_volfile_free(struct gi_volfile **vfp)
{
  struct gi_volfile *vf = *vfp;
  *vfp = NULL;
  if (!vf)
    return;
  gi_list_foreach_safe(n, &vf->nodes, struct gi_vol_node, link)
    node_free(n);
  gi_free(vf);
}

static char *
format_text(const char *fmt, va_list ap)
{
  char *text;
  GI_ASSERT(vasprintf(&text, fmt, ap) >= 0);
  return text;
}

struct gi_vol_node *
gi_vol_node_add(struct gi_volfile *vf, const char *type, const char *name_fmt, ...)
{
  va_list ap;
  va_start(ap, name_fmt);
  GI_CLEANUP_FREE char *name = format_text(name_fmt, ap);
  va_end(ap);
  GI_ASSERT(name[0] && type[0] && !gi_volfile_find(vf, name));
  struct gi_vol_node *n = node_new(name);
  n->type = gi_strdup(type);
  gi_list_add_tail(&vf->nodes, &n->link);
  return n;
}

void
gi_vol_node_option(struct gi_vol_node *n, const char *name, const char *fmt, ...)
{
  va_list ap;
  va_start(ap, fmt);
  char *value = format_text(fmt, ap);
  va_end(ap);
  struct gi_vol_option *o = option_find(n, name);
  if (!o) {
    o = option_new(name, NULL);
    /* The list is in file order, and files show the last assignment first. */
    gi_list_add_head(&n->options, &o->link);
  }
  gi_free(o->value);
  o->value = value;
}

void
gi_vol_node_sub(struct gi_vol_node *n, struct gi_vol_node *sub)
{
  GI_ASSERT(n != sub);
  node_add_sub(n, sub);
}

void
gi_vol_node_retype(struct gi_vol_node *n, const char *type)
{
  gi_free(n->type);
  n->type = gi_strdup(type);
}

void
gi_vol_node_remove(struct gi_vol_node *n)
{
  GI_ASSERT(n->nparents == 0);
  for (unsigned i = 0; i < n->nsub; i++) {
    GI_ASSERT(n->sub[i]->nparents > 0);
    n->sub[i]->nparents--;
  }
  gi_list_del(&n->link);
  node_free(n);
}

const char *
gi_vol_node_get(const struct gi_vol_node *n, const char *name)
{
  struct gi_vol_option *o = option_find(n, name);
  return o ? o->value : NULL;
}

struct gi_vol_node *
gi_volfile_find(const struct gi_volfile *vf, const char *name)
{
  gi_list_foreach(n, &vf->nodes, struct gi_vol_node, link) {
    if (strcmp(n->name, name) == 0)
      return n;
  }
  return NULL;
}

struct gi_vol_node *
gi_volfile_top(const struct gi_volfile *vf)
{
  return gi_list_empty(&vf->nodes) ? NULL : gi_list_item(vf->nodes.prev, struct gi_vol_node, link);
}

/* ---- writing ---- */

/* A word as it is where the grammar allows, else in quotes. A newline cannot be written at all: it becomes a blank. */
static void
put_word(FILE *out, const char *word)
{
  bool plain = word[0] && word[0] != '#' && keyword(word) == TOK_WORD && !strpbrk(word, " \t\r\n\"\\");
  if (plain) {
    fputs(word, out);
    return;
  }
  putc('"', out);
  for (; *word; word++) {
    if (*word == '"' || *word == '\\')
      putc('\\', out);
    putc(*word == '\n' ? ' ' : *word, out);
  }
  putc('"', out);
}

static void
put_node(FILE *out, const struct gi_vol_node *n)
{
  fputs("volume ", out);
  put_word(out, n->name);
  fputs("\n    type ", out);
  put_word(out, n->type);
  gi_list_foreach(o, &n->options, struct gi_vol_option, link) {
    fputs("\n    option ", out);
    put_word(out, o->name);
    putc(' ', out);
    put_word(out, o->value);
  }
  if (n->nsub > 0)
    fputs("\n    subvolumes", out);
  for (unsigned i = 0; i < n->nsub; i++) {
    putc(' ', out);
    put_word(out, n->sub[i]->name);
  }
  fputs("\nend-volume\n", out);
}

char *
gi_volfile_write(const struct gi_volfile *vf)
{
  char *text = NULL;
  size_t len = 0;
  FILE *out = open_memstream(&text, &len);
  GI_ASSERT(out != NULL);
  gi_list_foreach(n, &vf->nodes, struct gi_vol_node, link) {
    if (n->link.prev != &vf->nodes)
      putc('\n', out);
    put_node(out, n);
  }
  GI_ASSERT(fclose(out) == 0);
  return text;
}
