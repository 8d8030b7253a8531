/* SPDX-License-Identifier: Apache-2.0
 *
 * By what processes on nodes of the pool show bricks that they are that: a user
 * name and a password of the volume. When a node leaves each volume has others.
 *
 * All nodes hear of it, but not in one moment. So a node has its bricks take
 * both at once, and what it runs show the new ones when the others have heard,
 * too. Whoever is connected introduces itself again then, without a break.
 * At last bricks take the new ones alone, and close what has shown no others.
 */
#include "programs/glusterishd/pool/pool.h"

#include <string.h>

#define HEARD (20 * GI_NSEC_PER_SEC) /* when others have heard */
#define MSG (GI_MSG_MGMT + 256)

char *
gd_login_next(const struct gd_volume *v)
{
  struct gd_volume *d = gd_volume_draft(v);
  struct gi_gfid user = gi_gfid_new(v->gd->reactor), password = gi_gfid_new(v->gd->reactor);
  char text[GI_UUID_TEXT];
  gi_free(d->username);
  gi_free(d->password);
  d->username = gi_strdup(gi_gfid_text(&user, text));
  d->password = gi_strdup(gi_gfid_text(&password, text));
  explicit_bzero(text, sizeof(text));
  d->version++;
  char *definition = gd_definition_write(d);
  gd_volume_free(d);
  return definition;
}

static void
step(void *arg)
{
  struct gd_volume *v = arg;
  if (v->shows_former) {
    v->shows_former = false;
    gi_timer_set(&v->login, HEARD);
  } else {
    gi_free(v->former_username);
    gi_free(v->former_password);
    v->former_username = v->former_password = NULL;
    gi_log(GI_LOG_INFO, GD_NAME, MSG, "volume %s: bricks here take the new password alone", v->name);
  }
  gd_volume_sync(v);
  gd_services_changed(v->gd);
}

void
gd_login_take(struct gd_volume *v, const struct gd_volume *d)
{
  if (strcmp(v->username, d->username) == 0 && strcmp(v->password, d->password) == 0)
    return;
  gi_free(v->former_username);
  gi_free(v->former_password);
  v->former_username = v->username;
  v->former_password = v->password;
  v->username = gi_strdup(d->username);
  v->password = gi_strdup(d->password);
  v->shows_former = true;
  if (!v->login.r)
    gi_timer_init(&v->login, v->gd->reactor, step, v);
  gi_timer_set(&v->login, HEARD);
  gi_log(GI_LOG_INFO, GD_NAME, MSG + 1, "volume %s has another password", v->name);
}
