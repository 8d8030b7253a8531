/* SPDX-License-Identifier: Apache-2.0
 *
 * Priorities of files by the patterns that their names match.
 */
#include "io-cache.h"

#include <errno.h>
#include <fnmatch.h>

void
ioc_rules_free(struct ioc_rule **rules, unsigned *n)
{
  for (unsigned i = 0; i < *n; i++)
    gi_free((*rules)[i].pattern);
  gi_free(*rules);
  *rules = NULL;
  *n = 0;
}

static bool
parse_rule(const char *text, size_t len, struct ioc_rule *rule)
{
  const char *colon = memrchr(text, ':', len);
  int64_t rank;
  GI_ASSERT(len > 0);
  if (!colon || colon == text)
    return false;
  GI_CLEANUP_FREE char *number = gi_strndup(colon + 1, len - (size_t)(colon + 1 - text));
  if (!gi_parse_int(number, &rank) || rank < 0)
    return false;
  rule->rank = (uint8_t)(rank < (int64_t)IOC_RANKS ? rank : IOC_RANKS - 1);
  rule->pattern = gi_strndup(text, (size_t)(colon - text));
  return true;
}

int
ioc_rules_parse(const char *text, struct ioc_rule **rules, unsigned *n, struct gi_error *err)
{
  *rules = NULL;
  *n = 0;
  for (const char *s = text ? text : ""; *(s += strspn(s, ", ")) != '\0';) {
    size_t len = strcspn(s, ", ");
    struct ioc_rule rule;
    if (!parse_rule(s, len, &rule)) {
      ioc_rules_free(rules, n);
      return gi_error_set(err, EINVAL, "\"%.*s\" is no PATTERN:PRIORITY", (int)(len < 128 ? len : 128), s);
    }
    *rules = gi_realloc(*rules, (*n + 1) * sizeof(**rules));
    (*rules)[(*n)++] = rule;
    s += len;
  }
  return 0;
}

uint8_t
ioc_rank_of(const struct ioc *c, const char *name)
{
  GI_ASSERT(name && (c->rules || c->nrules == 0));
  for (unsigned i = 0; i < c->nrules; i++)
    if (fnmatch(c->rules[i].pattern, name, 0) == 0)
      return c->rules[i].rank;
  return IOC_DEFAULT_RANK;
}
