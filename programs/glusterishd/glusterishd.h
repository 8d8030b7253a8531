/* SPDX-License-Identifier: Apache-2.0
 *
 * The management daemon: what it knows and how its parts fit together. Its
 * folders are layers; a file calls its own and lower ones.
 *
 *   model/   what is known: volumes, their store, their volfiles
 *   tls/     certificates, and the credentials of a volume
 *   proc/    processes: bricks and daemons of volumes
 *   ops/     one command of the CLI each
 *   pool/    several nodes as one
 *   page/    what a browser is shown
 *   here     the daemon:
 *     main.c      command line, configuration file, start and end
 *     daemon.c    the daemon as an object
 *     services.c  DUMP, HANDSHAKE, PORTMAP and CLI programs
 *     doors.c     who may ask them for what; peer.c knows who asks
 *     observe.c   the observation socket
 *
 * One reactor; nothing here is shared with another thread. All state hangs off
 * struct gd, so that several daemons can live in one process.
 */
#ifndef GLUSTERISHD_H
#define GLUSTERISHD_H

#include "programs/glusterishd/proc/proc.h"
#include "libglusterish/metrics.h"
#include "rpc/tls.h"

#include <jansson.h>

/* ---- services.c ---- */

int gd_services_start(struct gd *gd, struct gi_error *err);
void gd_services_stop(struct gd *gd);
/* FETCHSPEC to everybody: somebody's volfile changed, or a brick has come that they may be waiting for. */
void gd_services_changed(struct gd *gd);
/* STATEDUMP to those at the address `host`: the one with that process id writes down its state. */
void gd_services_statedump(struct gd *gd, const char *host, int32_t pid);

/* ---- observe.c ---- */

/* Makes gd->observe and listens, after gd_start; gd_free ends it. No unix socket is only logged; -1 and err: not where the
 * configuration asks for. */
GI_MUST_CHECK int gd_observe_start(struct gd *gd, struct gi_error *err);

/* of volumes and bricks: prefixes "volume" (label "volume") and "brick" (and "brick") */
extern const struct gi_metric gd_volume_metrics[], gd_brick_metrics[];

/* ---- notify.c ---- */

/* Tells the service manager that the environment names, if there is one: "READY=1". False: nobody was told. */
bool gd_notify(const char *state);

/* ---- tls.c ---- */

char *gd_secure_access(const struct gd *gd); /* the file; caller frees, likewise the directory of authority.h */
char *gd_tls_dir(const struct gd *gd);
bool gd_tls_is_ours(const struct gd *gd, const struct gi_secure_access *a); /* the file was written by gd_tls_take */
/* The document of authority.h comes into force on this node. -1 and err: what was before may be. */
GI_MUST_CHECK int gd_tls_take(struct gd *gd, const json_t *doc, struct gi_error *err);
/* Brings the management port to what the file says now. -1 and err: it stays as it was. */
GI_MUST_CHECK int gd_tls_apply(struct gd *gd, struct gi_error *err);
/* The same, after what a daemon that died while it gave out certificates has left was settled. */
GI_MUST_CHECK int gd_tls_begin(struct gd *gd, struct gi_error *err);

/* The port takes those without TLS, where it is demanded, only in a pool, as a node that was away or is new has no credentials yet. doors.c
 * sees to it that nobody gets anything else then. */
void gd_tls_offer(struct gd *gd);
GI_MUST_CHECK int gd_tls_drop(struct gd *gd,
                              struct gi_error *err); /* the pool's credentials, if there are any, and what they say */

/* ---- daemon.c ---- */

/* The file name "<dir>/<fmt>", caller frees. */
struct gd *gd_new(struct gi_reactor *r, const struct gd_config *config); /* copies config */
int gd_start(struct gd *gd, struct gi_error *err);                       /* loads the state, listens, looks after bricks */
void gd_free(struct gd **gd);

#endif
