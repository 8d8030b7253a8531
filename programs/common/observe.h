/* SPDX-License-Identifier: Apache-2.0
 *
 * Asking the processes of this machine about themselves, on their observation
 * sockets (libglusterish/observe.h). These functions wait, with a limit: they
 * are for command line tools and for worker threads, not for a reactor.
 */
#ifndef PROG_OBSERVE_H
#define PROG_OBSERVE_H

#include "libglusterish/error.h"

#include <jansson.h>
#include <stdbool.h>

#define OB_ANSWER_MAX (64u << 20) /* bytes; a longer answer is an error */
#define OB_LIST_MS 2000           /* how long ob_list waits for the slowest */

struct ob_process {
  char *role;   /* client, brick, shd, glusterishd */
  char *volume; /* NULL: none, or not known */
  char *socket; /* its path */
  long pid;
  json_t *about; /* what /process says; NULL: it lives and does not answer */
};

/* False, and err: this user may not ask. */
bool ob_allowed(struct gi_error *err);
/* Living processes of this machine, those of one volume or all (NULL), sorted by role, volume and pid: their number, and *list, which
 * is NULL when there are none. Dead sockets are removed. One that does not answer is there with its role and pid, among all or if its
 * socket is named after the volume. */
unsigned ob_list(struct ob_process **list, const char *volume);
void ob_list_free(struct ob_process *list, unsigned n);

/* `path_and_query` as in a URL; timeout in milliseconds, 0 = none. NULL and err: no answer in time, another status than 200, or no
 * JSON. The caller owns the answer. */
json_t *ob_get_json(const struct ob_process *p, const char *path_and_query, unsigned timeout_ms, struct gi_error *err);
char *ob_get_text(const struct ob_process *p, const char *path_and_query, unsigned timeout_ms, struct gi_error *err);
/* Asks all at the same time. texts[i] of each, which the caller frees; NULL: it did not answer. */
void ob_get_texts(const struct ob_process *list, unsigned n, const char *path_and_query, unsigned timeout_ms, char **texts);

/* A value of a query, escaped. The caller frees it. */
char *ob_escape(const char *value);

#endif
