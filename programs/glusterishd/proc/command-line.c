/* SPDX-License-Identifier: Apache-2.0
 *
 * Command lines of the daemon's processes, and where those answer.
 */
#include "programs/glusterishd/proc/proc.h"

#include <string.h>

#define MORE_MAX 16 /* arguments of one kind of process */

int
gd_spawn(const char *program, const char *const *argv, pid_t *pid)
{
  return gd_spawn_in(program, argv, NULL, NULL, pid);
}

int
gd_spawn_graph(const struct gd *gd, const char *server, const char *id, const char *pidfile, const char *sock, const char *log,
               const char *const *more, pid_t *pid)
{
  GI_CLEANUP_FREE char *port = gi_asprintf("%d", gd->config.port);
  const char *format = gd->config.log_json ? "json" : "text";
  const char *const common[] = {
      gd->brick_program, "-s", server, "--volfile-id", id,  "--volfile-server-port", port,   "-p",
      pidfile,           "-S", sock,   "-l",           log, "--log-format",          format, "--statedump-dir",
      gd->config.rundir,
  };
  const char *argv[GI_ARRAY_LEN(common) + MORE_MAX] = {NULL};
  unsigned n = GI_ARRAY_LEN(common);
  memcpy(argv, common, sizeof(common));
  for (; *more; more++) {
    GI_ASSERT(n < GI_ARRAY_LEN(argv) - 1);
    argv[n++] = *more;
  }
  return gd_spawn(gd->brick_program, argv, pid);
}

char *
gd_socket_name(const struct gd_volume *v, const char *what)
{
  uint64_t hash = 14695981039346656037ull; /* FNV-1a */
  for (unsigned i = 0; i < sizeof(v->id.b); i++)
    hash = (hash ^ v->id.b[i]) * 1099511628211ull;
  for (const char *p = what; *p; p++)
    hash = (hash ^ (uint8_t)*p) * 1099511628211ull;
  return gi_asprintf("%s/%016llx.socket", v->gd->config.rundir, (unsigned long long)hash);
}
