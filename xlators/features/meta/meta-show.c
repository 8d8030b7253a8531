/* SPDX-License-Identifier: Apache-2.0
 *
 * The table of all virtual files, and what each of them says.
 */
#include "meta.h"

#include "libglusterish/seen.h"

#include <errno.h>
#include <inttypes.h>
#include <time.h>
#include <unistd.h>

#define DIRECTORY (S_IFDIR | 0500)
#define READ_ONLY (S_IFREG | 0400)
#define WRITABLE (S_IFREG | 0600)
#define LINK (S_IFLNK | 0777)

/* ---- the process ---- */

/* A JSON string; what is no printable ASCII becomes the character of that number. */
static void
put_json(FILE *out, const char *text)
{
  fputc('"', out);
  for (; *text; text++) {
    unsigned char c = (unsigned char)*text;

    if (c == '"' || c == '\\')
      fprintf(out, "\\%c", c);
    else if (c < 0x20 || c == 0x7f)
      fprintf(out, "\\u%04x", c);
    else
      fputc(c, out);
  }
  fputc('"', out);
}

static void
show_version(struct mt *m, const struct mt_node *n, FILE *out)
{
  fprintf(out, "{ \n  \"Package Version\": \"%s\"\n}\n", GI_VERSION);
}

static void
show_cmdline(struct mt *m, const struct mt_node *n, FILE *out)
{
  char text[8192];
  FILE *f = fopen("/proc/self/cmdline", "re");
  size_t len = f ? fread(text, 1, sizeof(text) - 1, f) : 0;

  if (f)
    fclose(f);
  for (size_t i = 0; i + 1 < len; i++)
    if (!text[i])
      text[i] = ' ';
  text[len] = '\0';
  fputs("{ \n  \"Cmdlinestr\": ", out);
  put_json(out, text);
  fputs("\n}\n", out);
}

#define FRAMES_MAX 200 /* operations that are shown, and as many on behalf of each */

static void
put_frame(FILE *out, const struct gi_fop *fop, unsigned number)
{
  fprintf(out, "%s\t\t   {\n\t\t\t\"Number\": %u,\n\t\t\t\"Xlator\": ", number > 1 ? ",\n" : "", number);
  put_json(out, fop->at ? fop->at->name : "");
  fprintf(out, ",\n\t\t\t\"Kind\": \"%s\",\n\t\t\t\"Creation_time\": %llu.%09llu\n\t\t   }", gi_fop_name(fop->kind),
          fop->start_ns / GI_NSEC_PER_SEC, fop->start_ns % GI_NSEC_PER_SEC);
}

/* An operation and those on its behalf. */
static void
put_stack(FILE *out, const struct gi_graph *g, const struct gi_fop *root, unsigned number)
{
  unsigned frames = 0;
  char owner[GI_OWNER_TEXT];

  fprintf(out, "%s\t   {\n\t\t\"Number\": %u,\n\t\t\"Frame\": [\n", number > 1 ? ",\n" : "", number);
  gi_list_foreach(fop, &g->flight, struct gi_fop, flight)
    if (fop->root == root && frames < FRAMES_MAX)
      put_frame(out, fop, ++frames);
  fprintf(out,
          "\n\t\t],\n\t\t\"Unique\": %" PRIu64
          ",\n\t\t\"Type\": \"%s\",\n\t\t\"UID\": %u,\n\t\t\"GID\": %u,\n\t\t\"LK_owner\": \"",
          root->number, gi_fop_name(root->kind), root->caller.uid, root->caller.gid);
  fprintf(out, "%s\"\n\t   }", gi_owner_text(&root->caller.owner, owner));
}

/* As the original writes them, without the names of its functions. */
static void
show_frames(struct mt *m, const struct mt_node *n, FILE *out)
{
  const struct gi_graph *g = m->x->graph;
  unsigned stacks = 0, all = 0;

  fputs("{ \n\t\"Stack\": [\n", out);
  gi_list_foreach(fop, &g->flight, struct gi_fop, flight) {
    if (fop->root != fop)
      continue;
    if (all++ < FRAMES_MAX)
      put_stack(out, g, fop, ++stacks);
  }
  fprintf(out, "\n\t],\n\t\"Call_Count\": %u\n}\n", all);
}

static void
show_mallinfo(struct mt *m, const struct mt_node *n, FILE *out)
{
  struct gi_dump d = {.out = out, .equals = " = "};

  gi_dump_memory(&d);
}

static void
show_process_uuid(struct mt *m, const struct mt_node *n, FILE *out)
{
  char text[GI_UUID_TEXT];

  fprintf(out, "%s\n", gi_gfid_text(&m->x->ctx->process_uuid, text));
}

static void
show_measure(struct mt *m, const struct mt_node *n, FILE *out)
{
  fprintf(out, "%d\n", !m->x->ctx->seen->off);
}

static int
store_measure(struct mt *m, const struct mt_node *n, const char *text)
{
  bool on;

  if (!gi_parse_bool(text, &on))
    return EINVAL;
  m->x->ctx->seen->off = !on;
  return 0;
}

/* ---- the log ---- */

static void
show_loglevel(struct mt *m, const struct mt_node *n, FILE *out)
{
  int level = GI_LOG_TRACE;

  while (level > GI_LOG_NONE && !gi_log_enabled((enum gi_log_level)level))
    level--;
  fprintf(out, "%d\n", level);
}

static int
store_loglevel(struct mt *m, const struct mt_node *n, const char *text)
{
  int64_t number;
  enum gi_log_level level;

  if (!gi_log_level_parse(text, &level)) {
    if (!gi_parse_int(text, &number) || number < GI_LOG_NONE || number > GI_LOG_TRACE)
      return EINVAL;
    level = (enum gi_log_level)number;
  }
  gi_log_set_level(level);
  return 0;
}

static void
show_logfile(struct mt *m, const struct mt_node *n, FILE *out)
{
  fprintf(out, "%s", gi_log_path());
}

/* ---- the graph ---- */

static void
graph_name(struct mt *m, char *buf, size_t size)
{
  char host[256] = "";
  time_t sec = m->born.sec;
  struct tm tm;
  char when[64];

  gethostname(host, sizeof(host) - 1);
  strftime(when, sizeof(when), "%Y-%m-%d-%H:%M:%S", gmtime_r(&sec, &tm));
  snprintf(buf, size, "%s-%d-%s.%06u +0000", host, (int)getpid(), when, m->born.nsec / 1000);
}

static void
show_active(struct mt *m, const struct mt_node *n, FILE *out)
{
  char name[512];

  graph_name(m, name, sizeof(name));
  fputs(name, out);
}

static unsigned
count_graphs(struct mt *m, const struct mt_node *dir)
{
  return 1;
}

static bool
graph_name_of(struct mt *m, const struct mt_node *n, char name[MT_NAME])
{
  graph_name(m, name, MT_NAME);
  return true;
}

static void
show_top(struct mt *m, const struct mt_node *n, FILE *out)
{
  fputs(m->x->name, out); /* nothing is above it but the mount */
}

static void
show_volfile(struct mt *m, const struct mt_node *n, FILE *out)
{
  GI_CLEANUP_FREE char *text = gi_volfile_write(m->x->graph->volfile);

  fputs(text, out);
}

/* ---- a layer ---- */

static bool
layer_name_of(struct mt *m, const struct mt_node *n, char name[MT_NAME])
{
  const struct gi_xlator *x = mt_layer(m, n);

  if (!x || mt_is_mount(m, x) || strlen(x->name) > GI_NAME_MAX || strchr(x->name, '/'))
    return false;
  snprintf(name, MT_NAME, "%s", x->name);
  return true;
}

static void
show_layer_name(struct mt *m, const struct mt_node *n, FILE *out)
{
  fprintf(out, "%s\n", mt_layer(m, n)->name);
}

static void
show_type(struct mt *m, const struct mt_node *n, FILE *out)
{
  fprintf(out, "%s\n", mt_layer(m, n)->cls->type);
}

static unsigned
count_subvolumes(struct mt *m, const struct mt_node *dir)
{
  return mt_layer(m, dir)->nchildren;
}

static bool
subvolume_name_of(struct mt *m, const struct mt_node *n, char name[MT_NAME])
{
  snprintf(name, MT_NAME, "%u", n->item);
  return true;
}

static void
show_subvolume(struct mt *m, const struct mt_node *n, FILE *out)
{
  fprintf(out, "../../%s", mt_layer(m, n)->children[n->item]->name);
}

/* ---- options ---- */

static unsigned
count_options(struct mt *m, const struct mt_node *dir)
{
  const struct gi_option *all = mt_layer(m, dir)->cls->options;
  unsigned n = 0;

  while (all && all[n].name)
    n++;
  return n;
}

/* Several keys of a volume may set one option: it has a row for each. */
static bool
is_repeated(const struct gi_option *all, const struct gi_option *o)
{
  for (; all < o; all++)
    if (strcmp(all->name, o->name) == 0)
      return true;
  return false;
}

static bool
option_name_of(struct mt *m, const struct mt_node *n, char name[MT_NAME])
{
  const struct gi_option *all = mt_layer(m, n)->cls->options, *o = &all[n->item];

  if (o->wildcard || is_repeated(all, o) || strlen(o->name) > GI_NAME_MAX || strchr(o->name, '/'))
    return false;
  snprintf(name, MT_NAME, "%s", o->name);
  return true;
}

/* As the volfile has it, or the default. */
static const char *
option_text(const struct gi_xlator *x, const struct gi_option *o)
{
  const char *text = gi_xlator_option(x, o->name);

  if (!text && o->alias)
    text = gi_xlator_option(x, o->alias);
  return text ? text : o->def ? o->def : "";
}

static void
show_option(struct mt *m, const struct mt_node *n, FILE *out)
{
  const struct gi_xlator *x = mt_layer(m, n);

  fprintf(out, "%s\n", option_text(x, &x->cls->options[n->item]));
}

/* Of all layers: one object each. */
static void
show_all_options(struct mt *m, const struct mt_node *n, FILE *out)
{
  const char *between = "\n";

  fputs("{\"options\":[", out);
  for (unsigned i = 0; i < m->x->graph->nlayers; i++) {
    const struct gi_xlator *x = mt_layer(m, &(struct mt_node){.layer = (uint16_t)i});

    for (const struct gi_option *o = x ? x->cls->options : NULL; o && o->name; o++) {
      if (o->wildcard || is_repeated(x->cls->options, o))
        continue;
      fprintf(out, "%s{\"layer\":", between);
      put_json(out, x->name);
      fputs(",\"option\":", out);
      put_json(out, o->name);
      fputs(",\"value\":", out);
      put_json(out, option_text(x, o));
      fprintf(out, ",\"set\":%s", gi_xlator_option(x, o->name) ? "true" : "false");
      if (o->key) {
        fputs(",\"key\":", out);
        put_json(out, o->key);
      }
      fputc('}', out);
      between = ",\n";
    }
  }
  fputs("\n]}\n", out);
}

/* ---- what a layer knows of itself ---- */

static void
show_private(struct mt *m, const struct mt_node *n, FILE *out)
{
  struct gi_xlator *x = mt_layer(m, n);
  struct gi_dump d = {.out = out, .equals = " = "};

  gi_dump_section(&d, "%s.%s", x->cls->type, x->name);
  gi_dump_kv(&d, "enabled", "%d", x->enabled);
  if (x->cls->metrics && x->metrics)
    gi_dump_metrics(&d, x->cls->metrics, x->metrics);
  if (x->cls->statedump)
    x->cls->statedump(x, &d);
}

static void
show_meminfo(struct mt *m, const struct mt_node *n, FILE *out)
{
  const struct gi_xlator *x = mt_layer(m, n);
  struct gi_dump d = {.out = out, .equals = " = "};

  gi_dump_section(&d, "%s.%s - usage", x->cls->type, x->name);
  gi_dump_kv(&d, "fop_bytes", "%u", x->cls->fop_bytes);
  gi_dump_kv(&d, "inode_bytes", "%u", x->cls->inode_bytes);
  gi_dump_kv(&d, "fd_bytes", "%u", x->cls->fd_bytes);
}

static void
show_errors(struct mt *m, const struct mt_node *n, FILE *out)
{
  gi_log_recent_json(out);
}

/* ns; of the layer and what is below it, where it sees the reply. */
static void
show_profile(struct mt *m, const struct mt_node *n, FILE *out)
{
  const struct gi_xlator *x = mt_layer(m, n);

  fprintf(out, "[%s.latency]\n", x->name);
  for (unsigned k = 0; x->times && k < GI_FOP_MAX; k++) {
    const struct gi_layer_kind *of = x->times->kind[k];
    const struct gi_hist *h = !of ? NULL : of->all.count ? &of->all : &of->own;

    if (h && h->count)
      fprintf(out, "%s.latency.%s = AVG:%f CNT:%" PRIu64 " TOTAL:%" PRIu64 " MIN:%" PRIu64 " MAX:%" PRIu64 "\n", x->name,
              gi_fop_name(k), (double)h->sum / (double)h->count, h->count, h->sum, h->min, h->max);
  }
}

static void
show_nothing(struct mt *m, const struct mt_node *n, FILE *out)
{
}

/* ---- the table ---- */

#define PAGE(what) .name = what, .in = MT_GLUSTERISH, .mode = READ_ONLY, .page = "/" what

/* The accesslog is found by name alone, or whoever copies a tree would wait in it for ever. */
const struct mt_row mt_table[MT_WHAT_MAX] = {
    [MT_META] = {.name = ".meta", .mode = DIRECTORY},
    [MT_VERSION] = {.name = "version", .in = MT_META, .mode = READ_ONLY, .show = show_version},
    [MT_CMDLINE] = {.name = "cmdline", .in = MT_META, .mode = READ_ONLY, .show = show_cmdline},
    [MT_FRAMES] = {.name = "frames", .in = MT_META, .mode = READ_ONLY, .show = show_frames},
    [MT_MALLINFO] = {.name = "mallinfo", .in = MT_META, .mode = READ_ONLY, .show = show_mallinfo},
    [MT_PROCESS_UUID] = {.name = "process_uuid", .in = MT_META, .mode = READ_ONLY, .show = show_process_uuid},
    [MT_LOGGING] = {.name = "logging", .in = MT_META, .mode = DIRECTORY},
    [MT_LOGFILE] = {.name = "logfile", .in = MT_LOGGING, .mode = LINK, .show = show_logfile},
    [MT_LOGLEVEL] = {.name = "loglevel", .in = MT_LOGGING, .mode = WRITABLE, .show = show_loglevel, .store = store_loglevel},
    [MT_MEASURE] = {.name = "measure_latency", .in = MT_META, .mode = WRITABLE, .show = show_measure, .store = store_measure},
    [MT_ROOT] = {.name = "root", .in = MT_META, .mode = DIRECTORY, .layers = true},
    [MT_GRAPHS] = {.name = "graphs", .in = MT_META, .mode = DIRECTORY},
    [MT_ACTIVE] = {.name = "active", .in = MT_GRAPHS, .mode = LINK, .show = show_active},
    [MT_GRAPH] = {.in = MT_GRAPHS, .mode = DIRECTORY, .count = count_graphs, .name_of = graph_name_of},
    [MT_TOP] = {.name = "top", .in = MT_GRAPH, .mode = LINK, .show = show_top},
    [MT_VOLFILE] = {.name = "volfile", .in = MT_GRAPH, .mode = READ_ONLY, .show = show_volfile},
    [MT_LAYER] = {.in = MT_GRAPH, .mode = DIRECTORY, .layers = true, .name_of = layer_name_of},
    [MT_LAYER_NAME] = {.name = "name", .in = MT_LAYER, .mode = READ_ONLY, .show = show_layer_name},
    [MT_TYPE] = {.name = "type", .in = MT_LAYER, .mode = READ_ONLY, .show = show_type},
    [MT_OPTIONS] = {.name = "options", .in = MT_LAYER, .mode = DIRECTORY},
    [MT_OPTION] = {.in = MT_OPTIONS, .mode = READ_ONLY, .count = count_options, .name_of = option_name_of, .show = show_option},
    [MT_SUBVOLUMES] = {.name = "subvolumes", .in = MT_LAYER, .mode = DIRECTORY},
    [MT_SUBVOLUME] =
        {.in = MT_SUBVOLUMES, .mode = LINK, .count = count_subvolumes, .name_of = subvolume_name_of, .show = show_subvolume},
    [MT_PRIVATE] = {.name = "private", .in = MT_LAYER, .mode = READ_ONLY, .show = show_private},
    [MT_HISTORY] = {.name = "history", .in = MT_LAYER, .mode = READ_ONLY, .show = show_nothing},
    [MT_MEMINFO] = {.name = "meminfo", .in = MT_LAYER, .mode = READ_ONLY, .show = show_meminfo},
    [MT_PROFILE] = {.name = "profile", .in = MT_LAYER, .mode = READ_ONLY, .show = show_profile},
    [MT_GLUSTERISH] = {.name = ".glusterish", .mode = DIRECTORY},
    [MT_ACCESSLOG] = {.name = "accesslog", .in = MT_GLUSTERISH, .mode = READ_ONLY, .unlisted = true, .show = show_nothing},
    [MT_ALL_OPTIONS] = {.name = "options", .in = MT_GLUSTERISH, .mode = READ_ONLY, .show = show_all_options},
    [MT_ERRORS] = {.name = "errors", .in = MT_GLUSTERISH, .mode = READ_ONLY, .show = show_errors},
    [MT_PAGE_GRAPH] = {PAGE("graph")},
    [MT_PAGE_INFLIGHT] = {PAGE("inflight")},
    [MT_PAGE_LAYERS] = {PAGE("layers")},
    [MT_PAGE_METRICS] = {PAGE("metrics"), .accept = "application/openmetrics-text"},
    [MT_PAGE_PROCESS] = {PAGE("process")},
    [MT_PAGE_RECORDER] = {PAGE("recorder")},
    [MT_PAGE_SLOW] = {PAGE("slow")},
    [MT_PAGE_STATEDUMP] = {PAGE("statedump")},
};
