/* SPDX-License-Identifier: Apache-2.0
 *
 * The list of objects that have probes. See probe.h.
 */
#include "libglusterish/probe.h"
#include "libglusterish/mem.h"

#include <stdlib.h>
#include <string.h>

#define OBJECTS_MAX 64 /* libraries and translators with probes; what is loaded beyond them is not counted */

/* Written while objects are loaded, which the dynamic linker does one at a time. */
static struct {
  struct gi_probe *const *begin, *const *end;
} object[OBJECTS_MAX];
static unsigned nobjects;

void
gi_probes_register(struct gi_probe *const *begin, struct gi_probe *const *end)
{
  if (begin == end || nobjects == OBJECTS_MAX)
    return;
  for (unsigned i = 0; i < nobjects; i++)
    if (object[i].begin == begin)
      return;
  object[nobjects].begin = begin;
  object[nobjects++].end = end;
}

const char *gi_broken;

bool
gi_broken_is(const char *text)
{
  return strcmp(gi_broken, text) == 0;
}

static int
by_name(const void *a, const void *b)
{
  return strcmp((*(struct gi_probe *const *)a)->name, (*(struct gi_probe *const *)b)->name);
}

void
gi_probes_foreach(void (*fn)(const struct gi_probe *m, void *arg), void *arg)
{
  size_t count = 0, n = 0;
  for (unsigned i = 0; i < nobjects; i++)
    count += (size_t)(object[i].end - object[i].begin);
  GI_CLEANUP_FREE const struct gi_probe **all = gi_alloc(count * sizeof(*all));
  for (unsigned i = 0; i < nobjects; i++)
    for (struct gi_probe *const *m = object[i].begin; m < object[i].end; m++)
      all[n++] = *m;
  if (n > 0)
    qsort(all, n, sizeof(*all), by_name);
  for (size_t i = 0; i < n; i++)
    fn(all[i], arg);
}

void
gi_probes_clear(void)
{
  for (unsigned i = 0; i < nobjects; i++)
    for (struct gi_probe *const *m = object[i].begin; m < object[i].end; m++)
      (*m)->hits = 0;
}
