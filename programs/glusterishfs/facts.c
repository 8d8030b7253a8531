/* SPDX-License-Identifier: Apache-2.0
 *
 * Facts as JSON: facts.h says the shapes.
 */
#include "programs/glusterishfs/facts.h"
#include "libglusterish/graph.h"

#include <string.h>

/* Names come from disks and clients: what is no UTF-8 is no JSON. */
static json_t *
text_of(const char *text)
{
  json_t *v = text ? json_string(text) : json_null();
  if (v)
    return v;
  size_t len = strlen(text), n = 0;
  size_t size = 4 * len + 1;
  GI_CLEANUP_FREE char *plain = gi_zalloc(size);
  for (const char *c = text; *c; c++)
    n += (size_t)snprintf(plain + n, size - n, (unsigned char)*c < 0x80 ? "%c" : "\\x%02x", (unsigned char)*c);
  return json_string(plain);
}

static double
seconds_of(struct gi_time t)
{
  return (double)t.sec + t.nsec / 1e9;
}

static json_t *
gfid_of(const struct gi_gfid *gfid)
{
  char text[GI_UUID_TEXT];
  return json_string(gi_gfid_text(gfid, text));
}

static json_t *
kinds_of(const uint64_t *fops)
{
  json_t *o = json_object();
  for (int k = 0; k < GI_FOP_MAX; k++)
    if (fops[k])
      json_object_set_new(o, gi_fop_table[k].name, json_integer((json_int_t)fops[k]));
  return o;
}

static void
add_client(struct gi_question *q, const struct gi_fact_client *f)
{
  json_array_append_new(
      q->arg, json_pack("{s:o, s:o, s:o, s:o, s:s, s:b, s:f, s:o, s:I, s:I, s:i, s:i, s:I, s:I}", "uid", text_of(f->uid),
                        "address", text_of(f->address), "process", text_of(f->process), "version", text_of(f->version), "brick",
                        f->brick, "ours", f->ours, "since", seconds_of(f->since), "fops", kinds_of(f->fops), "bytes_in",
                        (json_int_t)f->bytes_in, "bytes_out", (json_int_t)f->bytes_out, "inflight", (int)f->inflight, "handles",
                        (int)f->handles, "queued", (json_int_t)f->queued, "behind_ns", (json_int_t)f->behind_ns));
}

static json_t *
owner_of(const struct gi_owner *o)
{
  char text[GI_OWNER_TEXT];
  return json_string(gi_owner_text(o, text));
}

static void
add_lock(struct gi_question *q, const struct gi_fact_lock *f)
{
  json_array_append_new(q->arg,
                        json_pack("{s:o, s:s, s:o, s:o, s:b, s:s, s:I, s:I, s:o, s:o, s:i, s:o, s:f}", "gfid",
                                  gfid_of(&f->gfid), "kind", f->kind, "domain", text_of(f->domain), "name", text_of(f->name),
                                  "granted", f->granted, "type", f->write ? "write" : "read", "start", (json_int_t)f->start,
                                  "len", (json_int_t)f->len, "client", text_of(f->client), "address", text_of(f->address),
                                  "pid", (int)f->pid, "owner", owner_of(f->owner), "since", seconds_of(f->since)));
}

/* The server and features/upcall know different things of the same client. */
static json_t *
user_get(json_t *users, const struct gi_fact_user *f)
{
  size_t i;
  json_t *u;
  json_array_foreach(users, i, u)
  {
    const char *client = json_string_value(json_object_get(u, "client"));
    if (client && strcmp(client, f->client) == 0)
      return u;
  }
  u = json_pack("{s:o, s:o, s:i, s:i, s:n}", "client", text_of(f->client), "address", text_of(f->address), "handles", 0,
                "writing", 0, "told_s");
  json_array_append_new(users, u);
  return u;
}

static void
add_user(struct gi_question *q, const struct gi_fact_user *f)
{
  json_t *u = user_get(q->arg, f);
  if (f->told)
    json_object_set_new(u, "told_s", json_real((double)f->told_ns / 1e9));
  if (!f->handles)
    return;
  json_object_set_new(u, "handles", json_integer(f->handles));
  json_object_set_new(u, "writing", json_integer(f->writing));
}

static void
add_copy(struct gi_question *q, const struct gi_fact_copy *f)
{
  json_array_append_new(q->arg, json_pack("{s:s, s:b, s:b, s:b, s:b, s:b}", "name", f->name, "up", f->up, "known", f->known,
                                          "data", f->data, "metadata", f->metadata, "chosen", f->chosen));
}

/* Asks, and returns the list; *more tells whether it is not all. */
static json_t *
ask(const struct gi_graph *g, struct gi_question q, bool *more)
{
  q.arg = json_array();
  q.left = FS_FACTS_MAX;
  if (g)
    gi_graph_ask(g, &q);
  *more = *more || q.more;
  return q.arg;
}

json_t *
fs_facts_clients(const struct gi_graph *g)
{
  bool more = false;
  json_t *clients = ask(g, (struct gi_question){.what = GI_ASK_CLIENTS, .client = add_client}, &more);
  return json_pack("{s:o, s:b}", "clients", clients, "more", more);
}

json_t *
fs_facts_locks(const struct gi_graph *g, const struct gi_gfid *gfid)
{
  bool more = false;
  json_t *locks = ask(g, (struct gi_question){.what = GI_ASK_LOCKS, .gfid = gfid, .lock = add_lock}, &more);
  return json_pack("{s:o, s:b}", "locks", locks, "more", more);
}

json_t *
fs_facts_object(const struct gi_graph *g, const struct gi_gfid *gfid)
{
  bool more = false;
  json_t *users = ask(g, (struct gi_question){.what = GI_ASK_USERS, .gfid = gfid, .user = add_user}, &more);
  json_t *copies = ask(g, (struct gi_question){.what = GI_ASK_COPIES, .gfid = gfid, .copy = add_copy}, &more);
  return json_pack("{s:o, s:o, s:o, s:b}", "gfid", gfid_of(gfid), "users", users, "copies", copies, "more", more);
}
