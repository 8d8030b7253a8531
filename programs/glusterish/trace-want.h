/* SPDX-License-Identifier: Apache-2.0
 *
 * Which operations `trace` asks for, and where they are to go.
 */
#ifndef TRACE_WANT_H
#define TRACE_WANT_H

#include "programs/glusterish/cli.h"

#include <stdint.h>

struct trace_want {
  const char *volume;
  const char *path;               /* NULL: any */
  const char *perfetto;           /* a file, NULL: none */
  const char *otlp;               /* a file or a URL, NULL: none */
  int64_t pid, slower_ms, sample; /* 0: any, every one */
  int64_t count, seconds;
  bool hanging; /* those that have no answer yet */
};

/* Of words[0..n), the command and its options. False after telling the user what is wrong. */
bool trace_want_parse(struct cli *c, const struct cli_command *cmd, int n, char **words, struct trace_want *want);
/* The question to a process that has the volume mounted at `mountpoint` (NULL: not known): a path may be given below that. The caller
 * frees it. */
char *trace_query(const struct trace_want *want, const char *mountpoint);
/* What a path that may begin with the mount point is in the volume: from its root on, a part of `path`. */
const char *trace_path(const char *path, const char *mountpoint);
bool trace_is_url(const char *where);

#endif
