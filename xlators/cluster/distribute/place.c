/* SPDX-License-Identifier: Apache-2.0
 *
 * Which subvolumes new files would rather be on than where their names belong:
 * those of this machine (nufa), or those that a pattern of the name says
 * (switch). Where the name belongs there is a linkto file then.
 */
#include "xlators/cluster/distribute/di.h"

#include "libglusterish/log.h"
#include "libglusterish/pathinfo.h"

#include <fnmatch.h>

struct di_rule {
  char *pattern;
  uint64_t to;
};

/* ---- patterns: "PATTERN:SUBVOLUME,SUBVOLUME;PATTERN:SUBVOLUME" ---- */

/* The next rule of a text that is taken apart; NULL: there is none. *to: the subvolumes, NULL if it names none. */
static char *
next_rule(char **text, char **to)
{
  char *rule;

  do
    rule = strsep(text, ";");
  while (rule && !*rule);
  *to = rule ? strrchr(rule, ':') : NULL;
  if (*to)
    *(*to)++ = '\0';
  return rule;
}

int
di_place_check(const char *pattern, struct gi_error *err)
{
  GI_CLEANUP_FREE char *copy = pattern ? gi_strdup(pattern) : NULL;
  char *rest = copy, *rule, *to;

  while ((rule = next_rule(&rest, &to)))
    if (!*rule || !to || !*to)
      return gi_error_set(err, EINVAL, "pattern.switch.case: %s is not PATTERN:SUBVOLUME,…;…", pattern);
  return 0;
}

static uint64_t
subvolumes_of(const struct di *d, char *names)
{
  uint64_t set = 0;

  for (char *name; (name = strsep(&names, ", "));) {
    int child = di_by_name(d, name);

    if (child >= 0)
      set |= 1ull << child;
    else if (*name)
      gi_log(GI_LOG_WARNING, d->x->name, GI_MSG_DISTRIBUTE + 26, "pattern.switch.case names %s, which is no subvolume", name);
  }
  return set;
}

static void
forget_rules(struct di *d)
{
  for (unsigned i = 0; i < d->nrules; i++)
    gi_free(d->rules[i].pattern);
  gi_free(d->rules);
  d->rules = NULL;
  d->nrules = 0;
}

static void
read_rules(struct di *d)
{
  const struct di_options *o = di_opts(d);
  GI_CLEANUP_FREE char *copy = o->by_pattern && o->patterns ? gi_strdup(o->patterns) : NULL;
  char *rest = copy, *rule, *to;

  forget_rules(d);
  while ((rule = next_rule(&rest, &to))) {
    d->rules = gi_realloc(d->rules, (d->nrules + 1) * sizeof(*d->rules));
    d->rules[d->nrules++] = (struct di_rule){gi_strdup(rule), subvolumes_of(d, to)};
  }
}

/* ---- this machine ---- */

static void
told(struct gi_fop *fop, void *arg)
{
  struct di *d = arg;
  const char *text;

  GI_ASSERT(d->busy > 0 && fop->tag < d->n);
  if (fop->rsp.ret >= 0 && gi_dict_get_str(fop->rsp.dict, fop->args.name, &text) && gi_pathinfo_is_here(text))
    d->local |= 1ull << fop->tag;
  gi_fop_unref(fop);
  d->busy--;
  di_settle(d);
}

void
di_place_ask(struct di *d, unsigned child)
{
  const struct di_options *o = di_opts(d);
  struct gi_fop *h;

  GI_ASSERT(child < d->n);
  if (!o->nufa || o->local_name || (d->local >> child & 1) || d->draining)
    return;
  h = gi_fop_new(d->x->graph, GI_FOP_GETXATTR);
  h->loc.gfid = gi_gfid_root;
  h->loc.inode = gi_inode_get(d->x->graph, &gi_gfid_root);
  h->args.name = "trusted.glusterfs.pathinfo";
  h->tag = (uint8_t)child; /* which has this number until it is answered */
  d->busy++;
  gi_fop_submit(h, d->x->children[child], told, d);
}

/* ---- what is wanted ---- */

void
di_place_set(struct di *d)
{
  const struct di_options *o = di_opts(d);
  int child = o->nufa && o->local_name ? di_by_name(d, o->local_name) : -1;

  read_rules(d);
  if (!o->nufa)
    d->local = 0;
  else if (o->local_name)
    d->local = child >= 0 ? 1ull << child : 0;
  di_foreach(i, d->n > 1 ? d->up : 0) di_place_ask(d, (unsigned)i);
}

void
di_place_finish(struct di *d)
{
  forget_rules(d);
}

uint64_t
di_preferred(const struct di *d, const char *name)
{
  if (di_opts(d)->nufa)
    return d->local;
  for (unsigned i = 0; i < d->nrules; i++)
    if (fnmatch(d->rules[i].pattern, name, 0) == 0)
      return d->rules[i].to;
  return 0;
}
