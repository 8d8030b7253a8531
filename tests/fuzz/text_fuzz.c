/* SPDX-License-Identifier: Apache-2.0
 *
 * Text that comes from elsewhere: volfiles, lists of keys, and the requests that the command
 * line tool and anybody on the network may send to the management daemon. A
 * volfile that is understood is written and read again, and stays the same;
 * of a list of keys each is found, and can be taken away;
 * every request gets its answer, and the daemon is as it was.
 *
 * The first byte of an input chooses which, the second the procedure.
 */
#include "programs/glusterishd/ops/op.h"
#include "libglusterish/graph.h"
#include "libglusterish/volfile.h"
#include "rpc/client-key.h"
#include "tests/fuzz/fuzz.h"

#include <stdio.h>
#include <unistd.h>

#define TURNS_MAX 100000
#define SEEDS 1600 /* several times what is recorded of the wire, which is no text */

#define FAKE(t) \
  { \
    .abi = GI_XLATOR_ABI, .type = t, .version = "0" \
  }
static const struct gi_xlator_class fakes[] = {
    FAKE("protocol/client"), FAKE("cluster/distribute"), FAKE("debug/io-stats"),  FAKE("storage/posix"),
    FAKE("features/locks"),  FAKE("features/index"),     FAKE("protocol/server"),
};

/* Those that touch nothing but the daemon's own files. */
static const uint8_t procs[] = {3, 5, 12, 20, 26, 27, 33, 36};

static const char *const requests[] = {
    "{\"command\":\"peer status\"}",
    "{\"command\":\"volume info\",\"volume\":\"vol\"}",
    "{\"command\":\"volume set\",\"volume\":\"vol\",\"pairs\":[\"user.a\",\"b c\",\"auth.allow\",\"1.*\"]}",
    "{\"command\":\"volume reset\",\"volume\":\"vol\",\"option\":\"user.a\",\"force\":true}",
    "{\"command\":\"system getwd\"}",
    "{\"command\":\"volume status\",\"volume\":\"vol\",\"what\":\"clients\",\"detail\":[1,2.5,null]}",
    "{\"command\":\"volume list\"}",
    "{\"command\":\"system uuid get\"}",
};

static const char *const volfiles[] = {
    "volume a\n  type storage/posix\n  option directory /x\nend-volume\n\nvolume b\n  type features/locks\n"
    "  option \"a b\" \"c \\\" d\"\n  subvolumes a\nend-volume\n",
    "# comment\nvolume a\n type x/y\nend-volume\nvolume b\n type x/y\nend-volume\nvolume c\n type d/e\n option k 1\n option k "
    "2\n"
    " subvolumes a b\nend-volume\n",
    "volume a\n type \"x/y\"\n option k `echo`\nend-volume",
};

#define KEY "00112233445566778899aabbccddeeff00112233445566778899AABBCCDDEEF"

static const char *const key_lists[] = {
    "joe:" KEY "0,jim:" KEY "1",
    "a.b-c_d:" KEY "2,",
    "joe:" KEY "3,joe:" KEY "3,x:" KEY,
};

static struct gi_reactor *reactor;
static struct gd *daemon_;
static char dir[64];
static unsigned answers;

static void
start(void)
{
  struct gi_error err = {0};
  const char *types[GI_ARRAY_LEN(fakes) + 1] = {NULL};
  if (reactor)
    return;
  gi_log_set_level(GI_LOG_NONE);
  snprintf(dir, sizeof(dir), "/tmp/glusterish-fuzz-XXXXXX");
  if (!mkdtemp(dir)) {
    perror(dir);
    exit(1);
  }
  GI_CLEANUP_FREE char *sock = gi_asprintf("%s/s", dir), *run = gi_asprintf("%s/run", dir);
  for (size_t i = 0; i < GI_ARRAY_LEN(fakes); i++) {
    gi_class_register(&fakes[i]);
    types[i] = fakes[i].type;
  }
  struct gd_config config = {.workdir = dir,
                             .rundir = run,
                             .logdir = dir,
                             .sockfile = sock,
                             .pidfile = sock,
                             .logfile = sock,
                             .bind = (char *)"127.0.0.1",
                             .base_port = 49152,
                             .max_port = 60999};
  reactor = gi_reactor_new(0);
  daemon_ = gd_new(reactor, &config);
  gd_map_free(&daemon_->map);
  daemon_->map = gd_map_new_of(types);
  if (gd_start(daemon_, &err)) {
    fprintf(stderr, "%s\n", err.text);
    exit(1);
  }
  struct gd_volume *v = gd_volume_new(daemon_, "vol");
  v->id = gi_gfid_new(reactor);
  v->username = gi_strdup("U");
  v->password = gi_strdup("P");
  v->nbricks = 1;
  v->bricks = gi_zalloc(sizeof(*v->bricks));
  v->bricks[0] = (struct gd_brick){.volume = v,
                                   .host = gi_strdup("127.0.0.1"),
                                   .path = gi_strdup("/nonexistent/b"),
                                   .id = gi_strdup("vol-client-0"),
                                   .node = daemon_->uuid};
  gd_volume_link(v);
}

void
fuzz_finish(void)
{
  if (!reactor)
    return;
  gd_free(&daemon_);
  gi_reactor_free(reactor);
  reactor = NULL;
  gd_remove_tree(dir, NULL);
}

size_t
fuzz_seed(unsigned n, uint8_t *input, size_t room)
{
  static const struct {
    uint8_t first;
    const char *const *text;
    unsigned count;
  } kinds[] = {
      {0, volfiles, GI_ARRAY_LEN(volfiles)},
      {1, requests, GI_ARRAY_LEN(requests)},
      {1, requests, GI_ARRAY_LEN(requests)},
      {4, key_lists, GI_ARRAY_LEN(key_lists)},
  };
  unsigned k = n % GI_ARRAY_LEN(kinds), i = n / GI_ARRAY_LEN(kinds) % kinds[k].count;
  const char *text = kinds[k].text[i];
  size_t len = strlen(text);
  if (n >= SEEDS)
    return 0;
  GI_ASSERT(len + 2 <= room);
  input[0] = kinds[k].first;
  input[1] = (uint8_t)i;
  memcpy(input + 2, text, len);
  return len + 2;
}

static void
volfile(const char *text, size_t len)
{
  struct gi_error err = {0};
  struct gi_volfile *vf = gi_volfile_parse(text, len, &err);
  if (!vf) {
    GI_ASSERT(err.text[0]);
    return;
  }
  GI_CLEANUP_FREE char *written = gi_volfile_write(vf);
  gi_volfile_free(&vf);
  vf = gi_volfile_parse(written, strlen(written), &err);
  GI_ASSERT(vf);
  GI_CLEANUP_FREE char *again = gi_volfile_write(vf);
  GI_ASSERT(strcmp(written, again) == 0);
  gi_volfile_free(&vf);
}

struct keys {
  const char *list;
  unsigned n;
  char name[128]; /* the last one */
};

static void
key(const char *name, const char *text, void *arg)
{
  struct keys *k = arg;
  GI_CLEANUP_FREE char *found = gi_client_keys_name(k->list, text);
  GI_ASSERT(found && gi_client_key_name_ok(name));
  snprintf(k->name, sizeof(k->name), "%s", name);
  k->n++;
}

static void
key_list(const char *list)
{
  struct gi_error err = {0}, of_one = {0};
  struct keys all = {.list = list};
  bool good = gi_client_keys_check(list, &err) == 0;
  GI_ASSERT(good || err.text[0]);
  gi_client_keys_each(list, key, &all);
  if (!good || all.n == 0)
    return;
  GI_CLEANUP_FREE char *less = gi_client_keys_without(list, all.name, &err);
  struct keys left = {.list = less};
  GI_ASSERT(less && gi_client_keys_check(less, &err) == 0);
  gi_client_keys_each(less, key, &left);
  GI_ASSERT(left.n < all.n);
  GI_CLEANUP_FREE char *more = gi_client_keys_with(less, all.name, KEY "F", &of_one);
  GI_ASSERT(more ? gi_client_keys_check(more, &err) == 0 : of_one.text[0]);
}

static void
answered(struct gd_op *op, const struct gi_error *err)
{
  GI_ASSERT(!err || err->text[0]);
  answers++;
}

static void
request(const char *text, uint32_t proc, bool remote)
{
  unsigned before = answers;
  gd_op_begin(daemon_, text, proc, remote, NULL, answered, NULL);
  for (unsigned i = 0; answers == before && i < TURNS_MAX; i++)
    gi_reactor_turn(reactor, GI_NSEC_PER_MSEC);
  GI_ASSERT(answers == before + 1);
  GI_ASSERT(gd_volume_find(daemon_, "vol"));
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  start();
  if (size < 2)
    return 0;
  GI_CLEANUP_FREE char *text = gi_alloc(size - 1);
  memcpy(text, data + 2, size - 2);
  text[size - 2] = 0;
  if (data[0] % 8 == 4)
    key_list(text);
  else if (data[0] % 4 == 0)
    volfile((const char *)data + 2, size - 2);
  else
    request(text, procs[data[1] % GI_ARRAY_LEN(procs)], data[0] & 2);
  return 0;
}
