/* SPDX-License-Identifier: Apache-2.0
 *
 * A daemon of a pool dies at each call to the store that a command makes, or the
 * store goes away for a while: it is told soon what is wrong. Afterwards the
 * command is done or not done, on all nodes alike: definitions, nodes,
 * processes of bricks and the marks of their directories.
 */
#include "tests/simulation/management/bench.h"
#include "programs/glusterishd/tls/authority.h"

#include <openssl/pem.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#define CALM (16 * SIM_S) /* a lease has run out, and everybody has read what is stored */
#define CALLS_MAX 60      /* of one command, and more */
#define SOON (5 * SIM_S)
#define PATIENT (40 * SIM_S) /* bricks come and go meanwhile */

struct walk {
  const char *name;
  unsigned node; /* that is given the command, and dies */
  unsigned pool; /* nodes of the pool at first */
  uint32_t proc;
  const char *text;
  void (*prepare)(struct bench *b); /* may be NULL */
  bool (*done)(struct bench *b);
  const char *fresh[2]; /* directories that it makes, each below that of its node */
  uint64_t soon;        /* within which it says that the store went away; 0: that is not tried */
};

/* ---- what is right ---- */

static bool
is_brick(const struct sim_node *n, const char *path)
{
  gi_list_foreach(v, &n->gd->volumes, struct gd_volume, link)
    for (unsigned i = 0; i < v->nbricks; i++)
      if (gi_gfid_equal(&v->bricks[i].node, &n->gd->uuid) && strcmp(v->bricks[i].path, path) == 0)
        return true;
  return false;
}

/* What happens at which call of which command. */
struct trouble {
  const struct walk *k;
  unsigned call;
  enum store_fate fate;
};

static const char *
trouble_text(const struct trouble *t, char buf[128])
{
  static const char *const words[] = {[STORE_DIE_BEFORE] = "dies before",
                                      [STORE_DIE_AFTER] = "dies after",
                                      [STORE_NO_MAJORITY] = "has no majority from",
                                      [STORE_CUT_OFF] = "hears nothing of the store from"};
  snprintf(buf, 128, "%s, %s call %u", t->k->name, t->call ? words[t->fate] : "before", t->call);
  return buf;
}

/* A directory that the command makes is there, and marked, when it is a brick. */
static void
check_marks(struct bench *b, const struct trouble *t)
{
  char text[128];
  for (unsigned i = 0; i < GI_ARRAY_LEN(t->k->fresh) && t->k->fresh[i]; i++) {
    const struct sim_node *n = &b->all->node[t->k->fresh[i][0] - '0'];
    GI_CLEANUP_FREE char *path = gi_asprintf("%s/%s", b->all->dir, t->k->fresh[i]);
    bool marked = lgetxattr(path, "trusted.glusterfs.volume-id", NULL, 0) > 0, there = access(path, F_OK) == 0;
    bool brick = is_brick(n, path);
    if (brick != marked || brick != there)
      fail_msg("%s: %s is %s, and is %s%s", trouble_text(t, text), path, brick ? "a brick" : "no brick",
               there ? "there" : "not there", marked ? ", marked" : "");
  }
}

static void
check_agreed(struct bench *b, const struct trouble *t)
{
  char why[512], text[128];
  if (b->w->violations)
    fail_msg("%s: %s", trouble_text(t, text), b->w->violation);
  if (!sim_nodes_agree(b->all, why, sizeof(why)))
    fail_msg("%s: %s", trouble_text(t, text), why);
}

/* ---- the walk ---- */

/* True: the command had so many calls. */
static bool
strike(struct bench *b, const struct trouble *t)
{
  struct gi_error err = {0};
  char text[128];
  struct sim_node *n = &b->all->node[t->k->node];
  b->all->mortal = n;
  b->all->dies_at = t->call;
  b->all->fate = t->fate;
  b->all->struck = 0;
  bench_give(b, t->k->node, t->k->proc, t->k->text, &err);
  uint64_t ns = b->w->now - b->all->struck;
  sim_nodes_run(b->all, SIM_MS, NULL); /* who was answered dies, too */
  b->all->mortal = NULL;
  if (!b->all->struck)
    return false;
  bool died = !n->reactor;
  if (!died && err.code && ns > t->k->soon)
    fail_msg("%s: it says \"%s\" after %llu ms", trouble_text(t, text), err.text, (unsigned long long)(ns / SIM_MS));
  sim_nodes_run(b->all, CALM, NULL);
  if (died) {
    check_agreed(b, t);
    sim_node_start(n);
  }
  sim_nodes_mend(b->all);
  sim_nodes_run(b->all, CALM, NULL);
  return true;
}

/* False: the command has fewer calls. */
static bool
step(const struct walk *k, unsigned call, enum store_fate fate)
{
  struct bench bench, *b = &bench;
  struct gi_error err = {0};
  char text[128];
  struct trouble t = {k, 0, fate};
  bench_begin(b, 4);
  bench_pool(b, k->pool);
  if (k->prepare)
    k->prepare(b);
  sim_nodes_run(b->all, 4 * SIM_S, NULL);
  check_agreed(b, &t);
  t.call = call;
  bool struck = strike(b, &t);
  if (struck) {
    check_agreed(b, &t);
    check_marks(b, &t);
    if (!k->done(b) && bench_give(b, k->node, k->proc, k->text, &err))
      fail_msg("%s, tried again: %s", trouble_text(&t, text), err.text);
    sim_nodes_run(b->all, 4 * SIM_S, NULL);
    check_agreed(b, &t);
    if (!k->done(b))
      fail_msg("%s, tried again: it is not done", trouble_text(&t, text));
  }
  bench_end(b);
  return struck;
}

static void
walk(const struct walk *k, enum store_fate one, enum store_fate other)
{
  const char *part = getenv("SIMULATION");
  unsigned apart = part && strcmp(part, "short") == 0 ? 3 : 1; /* every third call, where each takes long */
  bool more = true;
  unsigned call;
  for (call = 1; more; call += apart) {
    assert_true(call < CALLS_MAX);
    more = step(k, call, one);
    if (more)
      step(k, call, other);
  }
  assert_true(call > 3 + apart); /* lease, lock, reading */
}

/* ---- volumes ---- */

#define CREATE \
  "{\"command\":\"volume create\",\"volume\":\"vol\",\"replica\":2,\"force\":true," \
  "\"bricks\":[\"10.0.0.1:DIR/0/a\",\"10.0.0.2:DIR/1/a\"]}"
#define WIDE \
  "{\"command\":\"volume create\",\"volume\":\"vol\",\"force\":true," \
  "\"bricks\":[\"10.0.0.1:DIR/0/a\",\"10.0.0.1:DIR/0/b\",\"10.0.0.2:DIR/1/a\"]}"
#define START "{\"command\":\"volume start\",\"volume\":\"vol\"}"
#define STOP "{\"command\":\"volume stop\",\"volume\":\"vol\"}"

static const struct gd_volume *
volume(struct bench *b)
{
  return gd_volume_find(b->all->node[0].gd, "vol");
}

static void
created(struct bench *b)
{
  bench_order(b, 0, 4, CREATE);
}

static void
started(struct bench *b)
{
  bench_order(b, 1, 4, CREATE);
  bench_order(b, 0, 8, START);
}

static void
started_wide(struct bench *b)
{
  bench_order(b, 1, 4, WIDE);
  bench_order(b, 0, 8, START);
}

static bool
is_there(struct bench *b)
{
  return volume(b) != NULL;
}

static bool
is_gone(struct bench *b)
{
  return !volume(b);
}

static bool
is_started(struct bench *b)
{
  return volume(b)->status == GD_STARTED;
}

static bool
is_stopped(struct bench *b)
{
  return volume(b)->status == GD_STOPPED;
}

static bool
is_set(struct bench *b)
{
  const char *value = gd_options_get(&volume(b)->options, "user.a");
  return value && strcmp(value, "b") == 0;
}

static bool
is_set_for_all(struct bench *b)
{
  const char *value = gd_options_get(&b->all->node[2].gd->pool_options, "cluster.server-quorum-ratio");
  return value && strcmp(value, "51") == 0;
}

static bool
has_three(struct bench *b)
{
  return volume(b)->nbricks == 3;
}

static bool
has_moved(struct bench *b)
{
  return strstr(volume(b)->bricks[1].path, "/2/c") != NULL;
}

static bool
has_one(struct bench *b)
{
  return volume(b)->nbricks == 1;
}

static bool
drains(struct bench *b)
{
  const struct gd_volume *v = volume(b);
  if (v->bricks[2].decommissioned != (v->rebalance.task == GD_TASK_REMOVE))
    fail_msg("a brick is to be emptied: %d, somebody does it: %d", v->bricks[2].decommissioned,
             v->rebalance.task == GD_TASK_REMOVE);
  return v->bricks[2].decommissioned;
}

static bool
rebalances(struct bench *b)
{
  return volume(b)->rebalance.task == GD_TASK_REBALANCE;
}

/* ---- nodes ---- */

static unsigned
pool_of(struct bench *b, unsigned node)
{
  const struct gd *gd = b->all->node[node].gd;
  unsigned n = 0;
  while (gd_node_at(gd, n))
    n++;
  return gd->pool ? n + 1 : 0;
}

/* Whoever was to come or go is in the pool of the others, or in none. */
static bool
has_size(struct bench *b, unsigned whole, unsigned other)
{
  unsigned n = pool_of(b, 0), its = pool_of(b, other), without = whole > 2 ? whole - 1 : 0;
  if (n != (its ? whole : without) || (its && its != whole))
    fail_msg("node %u is in a pool of %u, the first one in one of %u", other, its, n);
  return its;
}

static bool
fourth_has_come(struct bench *b)
{
  return has_size(b, 4, 3);
}

static bool
second_has_come(struct bench *b)
{
  return has_size(b, 2, 1);
}

/* And what it knows helps it no more. */
static bool
third_has_left(struct bench *b)
{
  bool left = !has_size(b, 3, 2);
  if (left != b->all->node[0].gd->pool->generation)
    fail_msg("the third node has left: %d, the secret is of generation %u", left, b->all->node[0].gd->pool->generation);
  return left;
}

static void
third_is_away(struct bench *b)
{
  sim_node_crash(&b->all->node[2], true);
}

static bool
third_is_gone(struct bench *b)
{
  bool left = pool_of(b, 0) == 2;
  if (left != b->all->node[0].gd->pool->generation)
    fail_msg("the third node is gone: %d, the secret is of generation %u", left, b->all->node[0].gd->pool->generation);
  return left;
}

static bool
second_has_left(struct bench *b)
{
  return !has_size(b, 2, 1);
}

static void
alone_with_volume(struct bench *b)
{
  bench_order(b, 0, 4, "{\"command\":\"volume create\",\"volume\":\"vol\",\"force\":true,\"bricks\":[\"10.0.0.1:DIR/0/a\"]}");
}

/* ---- encryption ---- */

#define TLS(more) "{\"command\":\"pool tls\",\"action\":\"" more "\"}"
#define CLIENT TLS("client\",\"name\":\"joe")

static void
enabled(struct bench *b)
{
  bench_order(b, 1, 1, TLS("enable"));
}

static void
required(struct bench *b)
{
  enabled(b);
  bench_order(b, 0, 1, TLS("require"));
}

static void
with_client(struct bench *b)
{
  enabled(b);
  bench_order(b, 0, 1, CLIENT);
}

static json_t *
credentials(struct bench *b)
{
  GI_CLEANUP_FREE char *dir = gd_tls_dir(b->all->node[0].gd);
  return gd_authority_load(dir);
}

static bool
is_optional(struct bench *b)
{
  return b->all->node[0].gd->tls && b->all->node[0].gd->tls_optional;
}

static bool
is_required(struct bench *b)
{
  return b->all->node[0].gd->tls && !b->all->node[0].gd->tls_optional;
}

static bool
is_plain(struct bench *b)
{
  return !b->all->node[0].gd->tls;
}

/* The last certificate of the client: its serial number in a file of the bundle on the node that made it. */
static bool
is_given(struct bench *b, const json_t *one)
{
  GI_CLEANUP_FREE char *dir = gd_tls_dir(b->all->node[0].gd), *path = gi_asprintf("%s/clients/joe/glusterfs.pem", dir);
  FILE *f = fopen(path, "r");
  X509 *x = f ? PEM_read_X509(f, NULL, NULL, NULL) : NULL;
  BIGNUM *n = x ? ASN1_INTEGER_to_BN(X509_get0_serialNumber(x), NULL) : NULL;
  char *serial = n ? BN_bn2hex(n) : NULL;
  bool same = serial && strcmp(serial, json_string_value(json_object_get(one, "serial"))) == 0;
  OPENSSL_free(serial);
  BN_free(n);
  X509_free(x);
  if (f)
    fclose(f);
  return same;
}

/* Whoever is on the list of those that have one has it. */
static unsigned
clients(struct bench *b, unsigned *revoked)
{
  json_t *doc = credentials(b);
  const json_t *issued = json_object_get(doc, "issued");
  unsigned n = (unsigned)json_array_size(issued);
  *revoked = 0;
  for (unsigned i = 0; i < n; i++)
    *revoked += json_is_true(json_object_get(json_array_get(issued, i), "revoked"));
  if (n && !*revoked && !is_given(b, json_array_get(issued, n - 1)))
    fail_msg("the certificate that the client is said to have is not there");
  json_decref(doc);
  return n;
}

static bool
has_client(struct bench *b)
{
  unsigned revoked;
  return clients(b, &revoked) > 0;
}

static bool
is_revoked(struct bench *b)
{
  unsigned revoked;
  return clients(b, &revoked) == revoked;
}

static bool
is_renewed(struct bench *b)
{
  unsigned revoked, n = clients(b, &revoked);
  json_t *doc = credentials(b);
  json_int_t renewed = json_integer_value(json_object_get(doc, "renewed"));
  json_decref(doc);
  if ((n == 2) != (renewed == 1))
    fail_msg("nodes have new certificates: %d, the client has one: %d", (int)renewed, n == 2);
  return renewed == 1;
}

/* How often another authority has taken its place. */
static json_int_t
authorities(struct bench *b)
{
  json_t *doc = credentials(b);
  json_int_t n = json_integer_value(json_object_get(doc, "generation"));
  json_decref(doc);
  return n;
}

static bool
has_left_its_authority(struct bench *b)
{
  bool left = third_has_left(b);
  if (left != authorities(b))
    fail_msg("the third node has left: %d, another authority: %d", left, (int)authorities(b));
  return left;
}

static bool
is_succeeded(struct bench *b)
{
  bool renewed = is_renewed(b);
  if (renewed != authorities(b))
    fail_msg("certificates are new: %d, another authority: %d", renewed, (int)authorities(b));
  return renewed;
}

/* Alone it goes by what it keeps in files. */
static bool
second_has_left_its_authority(struct bench *b)
{
  bool left = second_has_left(b);
  if (left != authorities(b))
    fail_msg("the second node has left: %d, another authority: %d", left, (int)authorities(b));
  return left;
}

static bool
third_has_left_passwords(struct bench *b)
{
  bool left = third_has_left(b);
  const struct gd_volume *v = gd_volume_find(b->all->node[0].gd, "vol");
  if (!v || v->version != 1 + (unsigned)left)
    fail_msg("the third node has left: %d, the definition is of generation %u", left, v ? v->version : 0);
  return left;
}

static const struct walk walks[] = {
    {"create", 0, 3, 4, CREATE, NULL, is_there, {"0/a", "1/a"}, SOON},
    {"start", 0, 3, 8, START, created, is_started, {NULL}, SOON},
    {"stop", 0, 3, 9, STOP, started, is_stopped},
    {"delete", 0, 3, 7, "{\"command\":\"volume delete\",\"volume\":\"vol\"}", created, is_gone},
    {"set",
     0,
     3,
     12,
     "{\"command\":\"volume set\",\"volume\":\"vol\",\"pairs\":[\"user.a\",\"b\"]}",
     created,
     is_set,
     {NULL},
     SOON},
    {"set all", 0, 3, 12, "{\"command\":\"volume set\",\"volume\":\"all\",\"pairs\":[\"cluster.server-quorum-ratio\",\"51\"]}",
     created, is_set_for_all},
    {"add-brick",
     0,
     3,
     13,
     "{\"command\":\"volume add-brick\",\"volume\":\"vol\",\"replica\":3,\"force\":true,\"bricks\":[\"10.0.0.3:DIR/2/c\"]}",
     started,
     has_three,
     {"2/c"},
     PATIENT},
    {"replace-brick",
     0,
     3,
     15,
     "{\"command\":\"volume "
     "replace-brick\",\"volume\":\"vol\",\"source\":\"10.0.0.2:DIR/1/a\",\"target\":\"10.0.0.3:DIR/2/c\"}",
     started,
     has_moved,
     {"2/c"},
     PATIENT},
    {"remove-brick",
     0,
     3,
     14,
     "{\"command\":\"volume "
     "remove-brick\",\"volume\":\"vol\",\"replica\":1,\"action\":\"force\",\"bricks\":[\"10.0.0.2:DIR/1/a\"]}",
     started,
     has_one,
     {NULL},
     SOON},
    {"remove-brick start",
     0,
     3,
     14,
     "{\"command\":\"volume remove-brick\",\"volume\":\"vol\",\"action\":\"start\",\"bricks\":[\"10.0.0.2:DIR/1/a\"]}",
     started_wide,
     drains,
     {NULL},
     SOON},
    {"rebalance start", 0, 3, 11, "{\"command\":\"volume rebalance\",\"volume\":\"vol\",\"action\":\"start\"}", started_wide,
     rebalances},
    {"peer probe", 0, 3, 1, "{\"command\":\"peer probe\",\"host\":\"10.0.0.4\"}", NULL, fourth_has_come, {NULL}, SOON},
    {"the first peer probe", 0, 1, 1, "{\"command\":\"peer probe\",\"host\":\"10.0.0.2\"}", alone_with_volume, second_has_come},
    {"peer detach", 0, 3, 2, "{\"command\":\"peer detach\",\"host\":\"10.0.0.3\"}", NULL, third_has_left, {NULL}, SOON},
    {"peer detach of one that is away",
     0,
     3,
     2,
     "{\"command\":\"peer detach\",\"host\":\"10.0.0.3\",\"force\":true}",
     third_is_away,
     third_is_gone,
     {NULL},
     SOON},
    {"peer detach with a volume",
     0,
     3,
     2,
     "{\"command\":\"peer detach\",\"host\":\"10.0.0.3\"}",
     created,
     third_has_left_passwords,
     {NULL},
     SOON},
    {"peer detach with TLS",
     0,
     3,
     2,
     "{\"command\":\"peer detach\",\"host\":\"10.0.0.3\"}",
     with_client,
     has_left_its_authority,
     {NULL},
     SOON},
    {"pool tls enable", 0, 3, 1, TLS("enable"), NULL, is_optional, {NULL}, SOON},
    {"pool tls require", 0, 3, 1, TLS("require"), enabled, is_required, {NULL}, SOON},
    {"pool tls relax", 0, 3, 1, TLS("relax"), required, is_optional, {NULL}, SOON},
    {"pool tls disable", 0, 3, 1, TLS("disable"), enabled, is_plain, {NULL}, SOON},
    {"pool tls rotate", 0, 3, 1, TLS("rotate"), with_client, is_renewed, {NULL}, SOON},
    {"pool tls rotate --authority",
     0,
     3,
     1,
     "{\"command\":\"pool tls\",\"action\":\"rotate\",\"authority\":true}",
     with_client,
     is_succeeded,
     {NULL},
     SOON},
    {"pool tls client", 0, 3, 1, CLIENT, enabled, has_client, {NULL}, SOON},
    {"pool tls revoke", 0, 3, 1, TLS("revoke\",\"name\":\"joe"), with_client, is_revoked, {NULL}, SOON},
    {"the last peer detach with TLS", 0, 2, 2, "{\"command\":\"peer detach\",\"host\":\"10.0.0.2\"}", with_client,
     second_has_left_its_authority},
    {"the last peer detach", 0, 2, 2, "{\"command\":\"peer detach\",\"host\":\"10.0.0.2\"}", NULL, second_has_left},
};

/* ---- other passwords ---- */

static const struct gd_volume *
volume_on(struct bench *b, unsigned node)
{
  const struct gd_volume *v = gd_volume_find(b->all->node[node].gd, "vol");
  assert_non_null(v);
  return v;
}

/* Each node takes both, then shows the new ones, then takes them alone. */
static void
test_passwords_change_in_steps(void **state)
{
  struct bench bench, *b = &bench;
  bench_begin(b, 3);
  bench_pool(b, 3);
  started(b);
  GI_CLEANUP_FREE char *before = gi_strdup(volume_on(b, 0)->username);
  bench_order(b, 0, 2, "{\"command\":\"peer detach\",\"host\":\"10.0.0.3\"}");
  for (unsigned step = 0; step < 3; step++) {
    sim_nodes_run(b->all, (step ? 20 : 2) * SIM_S, NULL);
    for (unsigned i = 0; i < 2; i++) {
      const struct gd_volume *v = volume_on(b, i);
      assert_string_not_equal(v->username, before);
      assert_string_equal(v->username, volume_on(b, 0)->username);
      assert_int_equal(v->shows_former, step == 0);
      assert_int_equal(v->former_username != NULL, step < 2);
      if (v->former_username)
        assert_string_equal(v->former_username, before);
    }
  }
  check_agreed(b, &(struct trouble){.k = &(struct walk){.name = "passwords that change"}});
  bench_end(b);
}

/* ---- a new secret ---- */

/* One is away when another one is detached, and does not reach the store when it is back: the others tell it. */
static void
test_who_was_away_is_told_the_secret(void **state)
{
  struct bench bench, *b = &bench;
  bench_begin(b, 4);
  bench_pool(b, 4);
  sim_nodes_run(b->all, 4 * SIM_S, NULL);
  struct sim_node *away = &b->all->node[1], *gone = &b->all->node[3];
  uint8_t before[GD_SECRET_BYTES];
  memcpy(before, gone->gd->pool->secret, sizeof(before));
  sim_node_crash(away, true);
  bench_order(b, 0, 2, "{\"command\":\"peer detach\",\"host\":\"10.0.0.4\"}");
  assert_int_equal(b->all->node[0].gd->pool->generation, 1);
  assert_memory_not_equal(b->all->node[0].gd->pool->secret, before, sizeof(before));
  sim_node_store(&b->all->node[0])->cut[1]++;
  sim_node_start(away);
  assert_int_equal(away->gd->pool->generation, 0);
  sim_nodes_run(b->all, CALM, NULL);
  assert_int_equal(away->gd->pool->generation, 1);
  assert_true(gd_node_connected(gd_node_find(away->gd, &b->all->node[0].id)));
  sim_node_store(&b->all->node[0])->cut[1]--;
  sim_nodes_run(b->all, CALM, NULL);
  check_agreed(b, &(struct trouble){.k = &(struct walk){.name = "a secret for who was away"}});
  bench_end(b);
}

/* One that is detached while it is away, and does not reach the store: the others tell it, too. */
static void
test_who_was_detached_is_told_so(void **state)
{
  struct bench bench, *b = &bench;
  bench_begin(b, 3);
  bench_pool(b, 3);
  sim_nodes_run(b->all, 4 * SIM_S, NULL);
  struct sim_node *gone = &b->all->node[2];
  sim_node_crash(gone, true);
  bench_order(b, 0, 2, "{\"command\":\"peer detach\",\"host\":\"10.0.0.3\",\"force\":true}");
  sim_node_store(&b->all->node[0])->cut[2]++;
  sim_node_start(gone);
  assert_non_null(gone->gd->pool);
  sim_nodes_run(b->all, CALM, NULL);
  assert_null(gone->gd->pool);
  check_agreed(b, &(struct trouble){.k = &(struct walk){.name = "a node that is told that it was detached"}});
  bench_end(b);
}

static void
test_daemon_dies(void **state)
{
  walk(*state, STORE_DIE_BEFORE, STORE_DIE_AFTER);
}

static void
test_store_goes(void **state)
{
  walk(*state, STORE_NO_MAJORITY, STORE_CUT_OFF);
}

int
main(int argc, char **argv)
{
  static const struct CMUnitTest others[] = {
      cmocka_unit_test(test_passwords_change_in_steps),
      cmocka_unit_test(test_who_was_away_is_told_the_secret),
      cmocka_unit_test(test_who_was_detached_is_told_so),
  };
  struct CMUnitTest tests[2 * GI_ARRAY_LEN(walks) + GI_ARRAY_LEN(others)];
  unsigned n = 0;
  for (unsigned i = 0; i < GI_ARRAY_LEN(others) && argc < 2; i++)
    tests[n++] = others[i];
  for (unsigned i = 0; i < GI_ARRAY_LEN(walks); i++) {
    void *k = (void *)(uintptr_t)&walks[i];
    if (argc > 1 && strcmp(argv[1], walks[i].name) != 0)
      continue;
    tests[n++] = (struct CMUnitTest){.name = walks[i].name, .test_func = test_daemon_dies, .initial_state = k};
    if (walks[i].soon)
      tests[n++] = (struct CMUnitTest){.name = walks[i].name, .test_func = test_store_goes, .initial_state = k};
  }
  int ret = _cmocka_run_group_tests("commands of a pool whose daemon dies, or whose store goes away", tests, n, NULL, NULL);
  fflush(NULL);
  _Exit(ret); /* memory of dead daemons is not to be looked for */
}
