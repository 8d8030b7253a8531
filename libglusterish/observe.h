/* SPDX-License-Identifier: Apache-2.0
 *
 * The observation socket: a process answers questions about itself over HTTP,
 * on a unix socket of its own (and on TCP, if it is told to). GET only, and
 * nothing is changed by asking. Whoever has something to show adds a path:
 *
 *   static void show(struct gi_observe_request *rq, void *arg)
 *   {
 *     fprintf(gi_observe_out(rq), "{\"answer\":%d}\n", 42);
 *     gi_observe_done(rq, 200);
 *   }
 *   gi_observe_add(ctx->observe, "/answer", "application/json", show, NULL);
 *
 * It needs the real reactor. Where there is none, in the simulator and in unit
 * tests, the process is not observed: `struct gi_observe *` is NULL, and adding
 * to that does nothing.
 */
#ifndef GI_OBSERVE_H
#define GI_OBSERVE_H

#include "libglusterish/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct gi_reactor;
struct gi_observe;         /* ctx->observe; NULL: this process is not observed */
struct gi_observe_request; /* one GET */

/* ---- what is shown ---- */

/* On the reactor. The handler answers now or later, with gi_observe_done, exactly once. */
typedef void gi_observe_fn(struct gi_observe_request *rq, void *arg);

/* `path` ("/metrics"), `content_type` and `arg` are borrowed until the path is removed. No two of one path. */
void gi_observe_add(struct gi_observe *o, const char *path, const char *content_type, gi_observe_fn *fn, void *arg);
/* No request comes any more. Those that came must still be answered. One that was not added is fine. */
void gi_observe_remove(struct gi_observe *o, const char *path);

/* ---- one request ---- */

const char *gi_observe_query(struct gi_observe_request *rq, const char *key);   /* decoded; NULL if not there */
const char *gi_observe_header(struct gi_observe_request *rq, const char *name); /* of the request; NULL if not there */
void gi_observe_type(struct gi_observe_request *rq, const char *content_type);  /* another one for this answer; borrowed */
FILE *gi_observe_out(struct gi_observe_request *rq);             /* the body, to be written before gi_observe_done */
void gi_observe_done(struct gi_observe_request *rq, int status); /* 200, 400, 404, 503 …; the request is gone */
/* The body is one line, "TEXT\n", instead of what was written. */
void gi_observe_refuse(struct gi_observe_request *rq, int status, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
bool gi_observe_gone(const struct gi_observe_request *rq); /* the asker hung up; the request must still be answered */

/* ---- from inside ---- */

/* `body` (NULL: nothing) becomes the asker's, to be freed. */
typedef void gi_observe_answer_fn(void *arg, int status, char *body, size_t len);
/* What a GET of the path brings that accepts this type (NULL: any). `fn` is called once, perhaps before this returns, perhaps never when
 * the process ends first. False: there is no such path, and it is not called. */
bool gi_observe_ask(struct gi_observe *o, const char *path, const char *accept, gi_observe_answer_fn *fn, void *arg);
bool gi_observe_has(const struct gi_observe *o, const char *path);

/* ---- the process ---- */

#define GI_OBSERVE_CONNECTIONS 32 /* most at a time on each socket: who is idle longest goes when another one comes */

struct gi_observe *gi_observe_new(struct gi_reactor *r); /* of the real reactor; it does not listen yet */
/* Stops listening and removes the socket. Requests that are not answered yet have lost their asker. NULL is fine. */
void gi_observe_free(struct gi_observe **o);

/* Listens on gi_observe_dir()/ROLE-NAME-PID.socket, mode 0600, in a directory for its owner alone, which is made if need be; a '/' of
 * the name becomes '-', and a long name loses its beginning. Dead sockets there are removed. 0, or -1 and err. */
GI_MUST_CHECK int gi_observe_listen(struct gi_observe *o, const char *role, const char *name, struct gi_error *err);
const char *gi_observe_path(const struct gi_observe *o); /* of that socket; NULL: none */
/* Listens on TCP, "PORT" (of the loopback address), "ADDRESS:PORT" or "[ADDRESS]:PORT", ADDRESS in numbers. There only /process and
 * metrics are shown, but with "/all" behind it everything is. 0, or -1 and err. */
GI_MUST_CHECK int gi_observe_listen_tcp(struct gi_observe *o, const char *where, struct gi_error *err);
int gi_observe_port(const struct gi_observe *o); /* of the last of those; 0: none */

/* ---- where sockets are: observe-place.c ---- */

/* $GLUSTERISH_OBSERVE_DIR, else below the run directory of the installation. */
const char *gi_observe_dir(void);
/* Makes it. 0; -1 and err if somebody else owns it or may look into it. */
GI_MUST_CHECK int gi_observe_make_dir(struct gi_error *err);
/* The path of a socket, into buf: at most `size` bytes, the name is cut to fit. */
void gi_observe_name(char *buf, size_t size, const char *role, const char *name, long pid);
/* Removes the sockets that no process listens on. */
void gi_observe_tidy(void);
/* Nobody listens there: removes it. False: somebody does, or it cannot be known. */
bool gi_observe_bury(const char *path);

#endif
