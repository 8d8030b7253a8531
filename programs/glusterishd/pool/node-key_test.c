/* SPDX-License-Identifier: Apache-2.0
 *
 * What is sealed for a node, and an invitation with it.
 */
#include "programs/glusterishd/pool/fixture.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The node has forgotten its key: it gets another one. */
static void
become_another(struct fixture *f)
{
  GI_CLEANUP_FREE char *path = gi_asprintf("%s/node.key", f->gd->config.workdir);
  assert_int_equal(unlink(path), 0);
  f->gd->key_text[0] = '\0';
}

static void
test_only_the_node_opens_it(void **state)
{
  struct fixture *f = *state;
  GI_CLEANUP_FREE char *key = gi_strdup(gd_node_key(f->gd));
  GI_CLEANUP_FREE char *sealed = gd_seal_for(f->r, key, "a word"), *again = gd_seal_for(f->r, key, "a word");
  assert_non_null(sealed);
  assert_string_not_equal(sealed, again);
  assert_null(strstr(sealed, key));
  f->gd->key_text[0] = '\0'; /* the daemon begins again */
  GI_CLEANUP_FREE char *open = gd_unseal_own(f->gd, sealed);
  assert_string_equal(open, "a word");
  assert_string_equal(gd_node_key(f->gd), key);
  for (size_t at = 0; at < strlen(sealed); at += 17) {
    char was = sealed[at];
    sealed[at] = was == '0' ? '1' : '0';
    assert_null(gd_unseal_own(f->gd, sealed));
    sealed[at] = was;
  }
  become_another(f);
  assert_null(gd_unseal_own(f->gd, sealed));
  assert_string_not_equal(gd_node_key(f->gd), key);
}

static void
test_what_is_no_key(void **state)
{
  struct fixture *f = *state;
  static const char nothing[] = "0000000000000000000000000000000000000000000000000000000000000000";
  assert_true(gd_is_node_key(nothing));
  assert_null(gd_seal_for(f->r, nothing, "a word")); /* anybody could open it */
  assert_null(gd_seal_for(f->r, "ab", "a word"));
  assert_null(gd_seal_for(f->r, NULL, "a word"));
  assert_false(gd_is_node_key(NULL));
  assert_null(gd_unseal_own(f->gd, NULL));
  assert_null(gd_unseal_own(f->gd, nothing));
}

static void
test_a_damaged_key_is_replaced(void **state)
{
  struct fixture *f = *state;
  struct gi_error err;
  GI_CLEANUP_FREE char *path = gi_asprintf("%s/node.key", f->gd->config.workdir), *key = gi_strdup(gd_node_key(f->gd));
  assert_int_equal(gd_write_file(path, "private=no\n", 11, false, &err), 0);
  f->gd->key_text[0] = '\0';
  assert_string_not_equal(gd_node_key(f->gd), key);
}

static void
test_nobody_else_reads_an_invitation(void **state)
{
  struct fixture *f = *state;
  json_t *invitation = gd_pool_invitation(f->gd, NULL);
  GI_CLEANUP_FREE char *secret = gi_strdup(json_string_value(json_object_get(invitation, "secret")));
  assert_true(gd_secret_seal(f->gd, invitation, gd_node_key(f->gd)));
  char *text = json_dumps(invitation, 0);
  assert_null(strstr(text, secret));
  free(text);
  json_t *its = json_deep_copy(invitation);
  assert_true(gd_secret_open(f->gd, its));
  assert_string_equal(json_string_value(json_object_get(its, "secret")), secret);
  become_another(f);
  assert_false(gd_secret_open(f->gd, invitation));
  json_decref(its);
  json_decref(invitation);
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_only_the_node_opens_it, setup_pool, teardown_pool),
      cmocka_unit_test_setup_teardown(test_what_is_no_key, setup_pool, teardown_pool),
      cmocka_unit_test_setup_teardown(test_a_damaged_key_is_replaced, setup_pool, teardown_pool),
      cmocka_unit_test_setup_teardown(test_nobody_else_reads_an_invitation, setup_pool, teardown_pool),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
