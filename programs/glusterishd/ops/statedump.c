/* SPDX-License-Identifier: Apache-2.0
 *
 * volume statedump (cli.md 5.15). A process dumps on a signal; what is wanted
 * of it stands in a file of its own in the directory of the dumps, which it
 * removes (volfile.md 12).
 */
#include "programs/glusterishd/ops/op.h"

#include <errno.h>
#include <signal.h>
#include <string.h>

/* "mem=yes" …, a line each. The caller frees it. */
static char *
options_text(const json_t *words)
{
  char *text = gi_strdup("");
  for (size_t i = 0; i < json_array_size(words); i++) {
    char *longer = gi_asprintf("%s%s=yes\n", text, json_string_value(json_array_get(words, i)));
    gi_free(text);
    text = longer;
  }
  return text;
}

static int
check_words(const json_t *words, struct gi_error *err)
{
  static const char *const known[] = {"all", "mem", "iobuf", "callpool", "priv", "fd", "inode", "inodectx", "fdctx", "history"};
  for (size_t i = 0; i < json_array_size(words); i++) {
    const char *word = json_string_value(json_array_get(words, i));
    bool found = false;
    for (size_t k = 0; k < GI_ARRAY_LEN(known); k++)
      found = found || strcmp(word, known[k]) == 0;
    if (!found)
      return gi_error_set(err, EINVAL, "unknown part of a state dump: %.64s", word);
  }
  return 0;
}

static int
want(const struct gd *gd, pid_t pid, const char *text, struct gi_error *err)
{
  if (pid <= 0 || !*text)
    return 0;
  GI_CLEANUP_FREE char *path = gi_asprintf("%s/glusterdump.%d.options", gd->config.rundir, (int)pid);
  return gd_write_file(path, text, strlen(text), false, err);
}

/* "HOST:PID": a client with a connection to this daemon. */
static int
dump_client(struct gd_op *op, const char *client, struct gi_error *err)
{
  const char *colon = strrchr(client, ':');
  int64_t pid = 0;
  if (!colon || colon == client || !gi_parse_int(colon + 1, &pid) || pid <= 0 || pid > INT32_MAX)
    return gi_error_set(err, GD_ERR_MGMT, "client must be <hostname:process-id>");
  GI_CLEANUP_FREE char *host = gi_strndup(client, (size_t)(colon - client));
  gd_services_statedump(op->gd, host, (int32_t)pid);
  return GD_OP_DONE;
}

int
gd_op_statedump(struct gd_op *op, struct gi_error *err)
{
  struct gd_volume *v = op->volume;
  const char *client = gd_op_str(op, "client"), *target = gd_op_str(op, "target");
  const json_t *words = gd_op_strings(op, "options");
  if (v->status != GD_STARTED)
    return gi_error_set(err, GD_ERR_MGMT, "Volume %s is not in the started state", v->name);
  if (target && strcmp(target, "quotad") == 0)
    return gi_error_set(err, GD_ERR_MGMT, "Quota is not enabled on volume %s", v->name);
  if (target)
    return gi_error_set(err, GD_ERR_MGMT, "there is no %.32s", target);
  if (client)
    return dump_client(op, client, err);
  if (check_words(words, err))
    return GD_OP_FAILED;
  GI_CLEANUP_FREE char *text = options_text(words);
  for (unsigned i = 0; i < v->nbricks; i++) {
    if (want(op->gd, v->bricks[i].pid, text, err))
      return GD_OP_FAILED;
    gd_brick_signal(&v->bricks[i], SIGUSR1);
  }
  if (want(op->gd, gd_shd_pid(v), text, err))
    return GD_OP_FAILED;
  gd_shd_signal(v, SIGUSR1);
  return GD_OP_DONE;
}
