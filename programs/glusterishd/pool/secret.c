/* SPDX-License-Identifier: Apache-2.0
 *
 * The secret of the pool on its way to others.
 *
 * An invitation has it sealed with the key that the new node has told in its
 * greeting. Who overhears both learns nothing. Who stands between them, and
 * answers in the new node's name, does: nothing proves anything before there is
 * a token.
 */
#include "programs/glusterishd/pool/credential.h"
#include "programs/glusterishd/pool/pool.h"

#include <string.h>

bool
gd_secret_seal(struct gd *gd, json_t *invitation, const char *key)
{
  char *sealed = gd_seal_for(gd->reactor, key, json_string_value(json_object_get(invitation, "secret")));
  json_object_del(invitation, "secret");
  if (sealed)
    json_object_set_new(invitation, "sealed", json_string(sealed));
  gi_free(sealed);
  return sealed != NULL;
}

bool
gd_secret_open(struct gd *gd, json_t *invitation)
{
  const json_t *sealed = json_object_get(invitation, "sealed");
  char *text = sealed ? gd_unseal_own(gd, json_string_value(sealed)) : NULL;
  bool good = !sealed || text; /* a version before sends it as it is */
  if (text) {
    json_object_set_new(invitation, "secret", json_string(text));
    explicit_bzero(text, strlen(text));
  }
  gi_free(text);
  return good;
}
