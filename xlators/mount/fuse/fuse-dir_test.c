/* SPDX-License-Identifier: Apache-2.0
 *
 * mount/fuse: listings of directories.
 */
#include "xlators/mount/fuse/fuse-rig.h"

#include "libglusterish/promise.h"

static void
fill_entries(struct gi_fop *fop, void *arg)
{
  unsigned n = *(unsigned *)arg;
  struct gi_dirent dot = {.ino = 77, .off = 1, .type = 4, .name = ".", .name_len = 1};
  struct gi_dirent bad = {.ino = 1, .off = 2, .type = 8, .name = "a/b", .name_len = 3};
  struct gi_dirent bare = {.ino = 9, .off = 3, .type = 8, .name = "bare", .name_len = 4};

  gi_dirents_add(&fop->rsp.entries, &dot, fop);
  gi_dirents_add(&fop->rsp.entries, &bad, fop);
  gi_dirents_add(&fop->rsp.entries, &bare, fop);
  for (unsigned i = 0; i < n; i++) {
    char name[16];
    struct gi_dirent e = {.off = 10 + i, .type = 8, .name = name, .stat = iatt_of((uint8_t)(0x40 + i), S_IFREG | 0644)};

    e.name_len = (uint32_t)snprintf(name, sizeof(name), "entry%02u", i);
    e.ino = gi_gfid_ino(&e.stat.gfid);
    gi_dirents_add(&fop->rsp.entries, &e, fop);
  }
  fop->rsp.ret = (int32_t)fop->rsp.entries.count;
}

static uint64_t
open_root(struct rig *r)
{
  struct fuse_open_in in = {0};

  assert_int_equal(reply(r, request(r, FUSE_OPENDIR, FUSE_ROOT_ID, &in, sizeof(in))), 0);
  return ((const struct fuse_open_out *)body(r))->fh;
}

static uint64_t
lookups_of(struct rig *r, uint8_t n)
{
  struct gi_gfid gfid = iatt_of(n, 0).gfid;
  struct gi_inode *inode = gi_inode_find(r->s->graph, &gfid);
  uint64_t count = inode ? inode->nlookup : 0;

  gi_inode_unref(&inode);
  return count;
}

static void
test_readdirplus(void **state)
{
  struct rig *r = rig_new(NULL);
  uint64_t fh = open_root(r);
  struct fuse_read_in in = {.fh = fh, .size = 1024};
  unsigned n = 10, seen = 0, counted = 0;

  fake_script(r->s, 0, GI_FOP_READDIRP, (struct fake_reply){.fill = fill_entries, .arg = &n});
  assert_int_equal(reply(r, request(r, FUSE_READDIRPLUS, FUSE_ROOT_ID, &in, sizeof(in))), 0);
  assert_true(r->out_len - (ssize_t)sizeof(struct fuse_out_header) <= 1024);

  const uint8_t *p = body(r), *end = r->out + r->out_len;

  while (p < end) {
    const struct fuse_direntplus *d = (const void *)p;

    seen++;
    counted += d->entry_out.nodeid != 0;
    assert_null(memchr(d->dirent.name, '/', d->dirent.namelen));
    p += FUSE_DIRENTPLUS_SIZE(d);
  }
  assert_true(seen >= 4 && seen < 12);
  assert_int_equal(counted, seen - 2); /* "." and the one without attributes are not */
  for (unsigned i = 0; i < 10; i++)
    assert_int_equal(lookups_of(r, (uint8_t)(0x40 + i)), i < counted);
  rig_free(r);
}

static void
fill_links(struct gi_fop *fop, void *arg)
{
  for (unsigned i = 0; i < 10; i++) {
    char name[16];
    struct gi_dirent e = {.off = 10 + i, .type = 8, .name = name, .stat = iatt_of(0xaa, S_IFREG | 0644)};

    e.name_len = (uint32_t)snprintf(name, sizeof(name), "link%02u", i);
    e.ino = gi_gfid_ino(&e.stat.gfid);
    gi_dirents_add(&fop->rsp.entries, &e, fop);
  }
  fop->rsp.ret = (int32_t)fop->rsp.entries.count;
}

/* More names than the kernel may know, and a sixteenth, come without attributes. */
static void
test_readdirplus_has_a_bound(void **state)
{
  struct rig *r = rig_new("option lru-limit 4\n");
  struct fuse_read_in in = {.fh = open_root(r), .size = 8192};
  unsigned n = 10, known = 0;

  for (unsigned i = 0; i < 2; i++) { /* those that it knows come with theirs again */
    fake_script(r->s, 0, GI_FOP_READDIRP, (struct fake_reply){.fill = fill_entries, .arg = &n});
    assert_int_equal(reply(r, request(r, FUSE_READDIRPLUS, FUSE_ROOT_ID, &in, sizeof(in))), 0);
  }
  for (unsigned i = 0; i < n; i++) {
    assert_true(lookups_of(r, (uint8_t)(0x40 + i)) == 2 * (i < 4));
    known += lookups_of(r, (uint8_t)(0x40 + i)) > 0;
  }
  assert_int_equal(known, 4);
  rig_free(r);
}

/* One name of a file still fits, another does not: the kernel has learnt of the file. */
static void
test_readdirplus_of_links(void **state)
{
  struct rig *r = rig_new(NULL);
  struct fuse_read_in in = {.fh = open_root(r), .size = 1024};

  fake_script(r->s, 0, GI_FOP_READDIRP, (struct fake_reply){.fill = fill_links});
  assert_int_equal(reply(r, request(r, FUSE_READDIRPLUS, FUSE_ROOT_ID, &in, sizeof(in))), 0);

  const struct fuse_direntplus *first = body(r);
  uint64_t id = first->entry_out.nodeid, size = FUSE_DIRENTPLUS_SIZE(first);

  assert_int_equal(lookups_of(r, 0xaa), ((uint64_t)r->out_len - sizeof(struct fuse_out_header)) / size);
  assert_int_equal(getattr(r, id, &file_a), 0);
  rig_free(r);
}

/* ---- for how long ---- */

static void
fill_one(struct gi_fop *fop, void *arg)
{
  const struct gi_iatt *st = arg;
  struct gi_dirent e = {.off = 10, .type = 8, .name = "f", .name_len = 1, .stat = *st, .ino = st->ino};

  gi_dirents_add(&fop->rsp.entries, &e, fop);
  fop->rsp.ret = 1;
}

/* By us, who found it as it is told to be. */
static void
fill_changed(struct gi_fop *fop, void *arg)
{
  fop->rsp.pre = fop->rsp.post = *(const struct gi_iatt *)arg;
  fop->rsp.post.ctime.nsec++;
}

/* Asserts how many seconds the name "f" of the root and its attributes are good for, in a listing by that handle. */
static void
listed_by_for(struct rig *r, uint64_t fh, const struct gi_iatt *st, unsigned name, unsigned attributes)
{
  struct fuse_read_in in = {.fh = fh, .size = 4096};
  struct gi_iatt shown = *st;
  const struct fuse_entry_out *out;

  fake_script(r->s, 0, GI_FOP_READDIRP, (struct fake_reply){.fill = fill_one, .arg = &shown});
  assert_int_equal(reply(r, request(r, FUSE_READDIRPLUS, FUSE_ROOT_ID, &in, sizeof(in))), 0);
  out = &((const struct fuse_direntplus *)body(r))->entry_out;
  assert_int_equal(seconds(out->entry_valid, out->entry_valid_nsec), name);
  assert_int_equal(seconds(out->attr_valid, out->attr_valid_nsec), attributes);
}

static void
listed_for(struct rig *r, const struct gi_iatt *st, unsigned name, unsigned attributes)
{
  listed_by_for(r, open_root(r), st, name, attributes);
}

static struct rig *
rig_of_strict(void)
{
  struct rig *r = rig_new(NULL);

  gi_promise_made(r->s->x->children[0], (struct gi_promised){.seconds = 60, .strict = true});
  return r;
}

/* One brick answers a listing. What all have promised counts on, as long as it shows the same. */
static void
test_a_listing_takes_no_promise_away(void **state)
{
  struct rig *r = rig_of_strict();
  struct gi_iatt st = iatt_of(0xaa, S_IFREG | 0644), other = iatt_of(0xbb, S_IFREG | 0644);
  struct fuse_setattr_in mode = {.valid = FATTR_MODE, .mode = 0644};
  uint64_t id;

  listed_for(r, &st, 20, 1); /* all bricks tell of the names, but nobody else has said what it is like */
  id = lookup(r, "f", &file_a);
  listed_for(r, &st, 20, 20);
  fake_wait(r->s, 600 * GI_NSEC_PER_MSEC);
  listed_for(r, &st, 20, 19);
  listed_for(r, &other, 20, 1); /* another file */
  st.ctime.nsec++;
  listed_for(r, &st, 20, 1); /* the same, with other attributes */
  listed_for(r, &st, 20, 1);
  fake_script(r->s, 0, GI_FOP_SETATTR, (struct fake_reply){.fill = fill_changed, .arg = &st});
  assert_int_equal(reply(r, request(r, FUSE_SETATTR, id, &mode, sizeof(mode))), 0);
  st.ctime.nsec++;
  listed_for(r, &st, 20, 20);
  rig_free(r);
}

/* By another name, to which no promise belongs, in a directory whose bricks have told of something since it was opened. */
static void
test_a_listing_of_another_name(void **state)
{
  struct rig *r = rig_of_strict();
  struct gi_iatt st = iatt_of(0xaa, S_IFREG | 0644);
  struct gi_invalidation news = {.gfid = iatt_of(0xbb, 0).gfid, .flags = GI_UPCALL_TIMES};
  uint64_t fh = open_root(r);

  fake_event(r->s, 0, GI_EVENT_INVALIDATE, &news);
  lookup(r, "g", &file_a);
  listed_by_for(r, fh, &st, 1, 20);
  lookup(r, "f", &file_a);
  listed_by_for(r, fh, &st, 20, 20);
  rig_free(r);
}

/* A name of a listing is good for as long as the bricks have promised to tell of its directory's names since that was opened. */
static void
test_names_of_a_listing(void **state)
{
  struct rig *r = rig_of_strict();
  struct gi_iatt st = iatt_of(0xaa, S_IFREG | 0644), sub = iatt_of(0xcc, S_IFDIR | 0755);
  struct gi_invalidation forget = {.gfid = gi_gfid_root, .flags = GI_UPCALL_FORGET};
  uint64_t fh = open_root(r);
  unsigned before;

  fake_wait(r->s, 5600 * GI_NSEC_PER_MSEC);
  listed_by_for(r, fh, &st, 14, 1);
  listed_by_for(r, fh, &sub, 1, 1); /* which copy of a directory may be listed its name does not tell */
  listed_by_for(r, fh, &st, 14, 1);
  before = r->notifications;
  fake_event(r->s, 0, GI_EVENT_INVALIDATE, &forget); /* the brick tells no more, or does not say of which names */
  wait_notifications(r);
  assert_int_equal(r->notifications, before + 2); /* the attributes of the directory, and the name */
  listed_by_for(r, fh, &st, 1, 1);
  listed_for(r, &st, 20, 1);
  rig_free(r);
  r = rig_new(NULL);
  gi_promise_made(r->s->x->children[0], (struct gi_promised){.seconds = 60}); /* nobody waits for us */
  listed_for(r, &st, 1, 1);
  rig_free(r);
}

/* What a brick has told of, what the kernel was told to drop, and what is not promised any more begins anew. */
static void
test_a_listing_after_a_promise(void **state)
{
  struct rig *r = rig_of_strict();
  struct gi_iatt st = iatt_of(0xaa, S_IFREG | 0644);
  struct gi_invalidation attributes = {.gfid = st.gfid, .flags = GI_UPCALL_TIMES},
                         moved = {.gfid = st.gfid, .flags = GI_UPCALL_RENAME};

  lookup(r, "f", &file_a);
  fake_event(r->s, 0, GI_EVENT_INVALIDATE, &attributes);
  wait_notifications(r);
  listed_for(r, &st, 20, 1);
  fake_event(r->s, 0, GI_EVENT_INVALIDATE, &moved);
  wait_notifications(r);
  listed_for(r, &st, 20, 1);
  lookup(r, "f", &file_a);
  listed_for(r, &st, 20, 20);
  gi_promise_made(r->s->x->children[0], (struct gi_promised){.seconds = 0});
  wait_notifications(r);
  listed_for(r, &st, 1, 1);
  gi_promise_made(r->s->x->children[0], (struct gi_promised){.seconds = 60, .strict = true});
  listed_for(r, &st, 20, 1);
  rig_free(r);
}

/* The inode number of an entry of the plain listing in the reply; 0: it is not there. */
static uint64_t
ino_listed(struct rig *r, const char *name)
{
  const uint8_t *p = body(r), *end = r->out + r->out_len;

  for (const struct fuse_dirent *d; p < end; p += FUSE_DIRENT_SIZE(d)) {
    d = (const void *)p;
    if (d->namelen == strlen(name) && memcmp(d->name, name, d->namelen) == 0)
      return d->ino;
  }
  return 0;
}

static void
test_readdir(void **state)
{
  struct rig *r = rig_new(NULL);
  struct fuse_read_in in = {.fh = open_root(r), .size = 4096};
  unsigned n = 10;

  fake_script(r->s, 0, GI_FOP_READDIRP, (struct fake_reply){.fill = fill_entries, .arg = &n});
  assert_int_equal(reply(r, request(r, FUSE_READDIR, FUSE_ROOT_ID, &in, sizeof(in))), 0);

  const struct fuse_dirent *d = body(r);

  assert_int_equal(d->off, 1);
  assert_int_equal(d->type, 4);
  assert_int_equal(ino_listed(r, "."), gi_gfid_ino(&gi_gfid_root));
  for (uint8_t i = 0; i < 10; i++) {
    struct gi_gfid gfid = iatt_of((uint8_t)(0x40 + i), 0).gfid;
    char name[16];

    snprintf(name, sizeof(name), "entry%02u", i);
    assert_int_equal(ino_listed(r, name), gi_gfid_ino(&gfid));
  }
  assert_int_equal(lookups_of(r, 0x40), 0);
  assert_int_equal(reply(r, request(r, FUSE_READDIR, FUSE_ROOT_ID, &in, sizeof(in))), 0); /* the end */
  assert_int_equal(r->out_len, sizeof(struct fuse_out_header));
  in.size = 8; /* no room for anything must not look like the end */
  fake_script(r->s, 0, GI_FOP_READDIRP, (struct fake_reply){.fill = fill_entries, .arg = &n});
  assert_int_equal(reply(r, request(r, FUSE_READDIR, FUSE_ROOT_ID, &in, sizeof(in))), EINVAL);
  fake_script(r->s, 0, GI_FOP_READDIRP, (struct fake_reply){.ret = -1, .err = ENOTCONN});
  assert_int_equal(reply(r, request(r, FUSE_READDIR, FUSE_ROOT_ID, &in, sizeof(in))), ENOTCONN);
  assert_int_equal(
      reply(r, request(r, FUSE_FSYNCDIR, FUSE_ROOT_ID, &(struct fuse_fsync_in){.fh = in.fh}, sizeof(struct fuse_fsync_in))), 0);
  assert_int_equal(reply(r, request(r, FUSE_RELEASEDIR, FUSE_ROOT_ID, &(struct fuse_release_in){.fh = in.fh},
                                    sizeof(struct fuse_release_in))),
                   0);
  rig_free(r);
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_readdirplus),
      cmocka_unit_test(test_readdirplus_has_a_bound),
      cmocka_unit_test(test_readdirplus_of_links),
      cmocka_unit_test(test_a_listing_takes_no_promise_away),
      cmocka_unit_test(test_a_listing_of_another_name),
      cmocka_unit_test(test_a_listing_after_a_promise),
      cmocka_unit_test(test_names_of_a_listing),
      cmocka_unit_test(test_readdir),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
