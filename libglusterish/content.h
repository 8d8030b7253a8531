/* SPDX-License-Identifier: Apache-2.0
 *
 * The content of a small file travels with the answer to an operation that asks
 * for it (GI_CONTENT_KEY, extension.h). Layers that know better take the question,
 * or the answer, away.
 */
#ifndef GI_CONTENT_H
#define GI_CONTENT_H

#include "libglusterish/extension.h"
#include "libglusterish/fop.h"

static inline bool
gi_content_asked(const struct gi_fop *fop)
{
  return gi_dict_get(fop->xdata, GI_CONTENT_KEY) != NULL;
}

/* It asks for content no more, nor for what goes with that. */
static inline void
gi_content_unask(struct gi_fop *fop)
{
  if (!gi_content_asked(fop))
    return;
  gi_dict_del(gi_fop_xdata(fop), GI_CONTENT_KEY);
  gi_dict_del(fop->xdata, GI_CONTENT_STAT_KEY);
}

/* Its answer says nothing of content. */
static inline void
gi_content_drop(struct gi_fop *fop)
{
  if (!gi_dict_get(fop->rsp.xdata, GI_CONTENT_STAT_KEY))
    return;
  gi_dict_del(gi_fop_rsp_xdata(fop), GI_CONTENT_STAT_KEY);
  gi_dict_del(fop->rsp.xdata, GI_CONTENT_KEY);
}

#endif
