/* SPDX-License-Identifier: Apache-2.0
 *
 * The output of volume info (cli.md 5.3).
 */
#include "programs/glusterish/cli.h"

#include <string.h>

static void
brick_count(struct cli *c, const json_t *v)
{
  long long bricks = cli_int(v, "brickCount"), sets = cli_int(v, "distCount"), replica = cli_int(v, "replicaCount");
  long long disperse = cli_int(v, "disperseCount"), redundancy = cli_int(v, "redundancyCount");
  if (disperse > 0)
    fprintf(c->out, "Number of Bricks: %lld x (%lld + %lld) = %lld\n", sets, disperse - redundancy, redundancy, bricks);
  else if (cli_int(v, "arbiterCount") > 0)
    fprintf(c->out, "Number of Bricks: %lld x (%lld + %d) = %lld\n", sets, replica - 1, 1, bricks);
  else if (replica > 1)
    fprintf(c->out, "Number of Bricks: %lld x %lld = %lld\n", sets, replica, bricks);
  else
    fprintf(c->out, "Number of Bricks: %lld\n", bricks);
}

static void
render_volume(struct cli *c, const json_t *v)
{
  static const char *const transports[] = {"tcp", "rdma", "tcp,rdma"};
  const json_t *bricks = json_object_get(v, "bricks"), *options = json_object_get(v, "options");
  long long transport = cli_int(v, "transport");
  fprintf(c->out, " \nVolume Name: %s\nType: %s\nVolume ID: %s\nStatus: %s\nSnapshot Count: %lld\n", cli_str(v, "name"),
          cli_str(v, "typeStr"), cli_str(v, "id"), cli_str(v, "statusStr"), cli_int(v, "snapshotCount"));
  brick_count(c, v);
  fprintf(c->out, "Transport-type: %s\nBricks:\n", transports[transport >= 0 && transport <= 2 ? transport : 0]);
  for (size_t i = 0; i < json_array_size(bricks); i++) {
    const json_t *b = json_array_get(bricks, i);
    fprintf(c->out, "Brick%zu: %s%s\n", i + 1, cli_str(b, "name"), cli_true(b, "isArbiter") ? " (arbiter)" : "");
  }
  if (json_array_size(options))
    fprintf(c->out, "Options Reconfigured:\n");
  for (size_t i = 0; i < json_array_size(options); i++) {
    const json_t *o = json_array_get(options, i);
    fprintf(c->out, "%s: %s\n", cli_str(o, "name"), cli_str(o, "value"));
  }
}

void
cli_render_info(struct cli *c, const json_t *doc)
{
  const json_t *volumes = json_object_get(doc, "volumes");
  if (json_array_size(volumes) == 0)
    fprintf(c->err, "No volumes present\n");
  for (size_t i = 0; i < json_array_size(volumes); i++)
    render_volume(c, json_array_get(volumes, i));
}

/* Text and elements on one line, as the original has it. */
static void
brick_xml(struct cli_xml *x, const json_t *b)
{
  cli_xml_open(x, "brick");
  cli_xml_attribute(x, "uuid", cli_str(b, "hostUuid"));
  cli_xml_write(x, cli_str(b, "name"));
  cli_xml_inline(x, "name", cli_str(b, "name"));
  cli_xml_inline(x, "hostUuid", cli_str(b, "hostUuid"));
  cli_xml_inline(x, "isArbiter", cli_true(b, "isArbiter") ? "1" : "0");
  cli_xml_close(x);
}

static void
volume_xml(struct cli_xml *x, const json_t *v)
{
  static const char *const members[] = {
      "name",         "id",           "status",        "statusStr",       "snapshotCount", "brickCount", "distCount",
      "replicaCount", "arbiterCount", "disperseCount", "redundancyCount", "type",          "typeStr",    "transport"};
  const json_t *bricks = json_object_get(v, "bricks"), *options = json_object_get(v, "options");
  cli_xml_open(x, "volume");
  for (size_t i = 0; i < GI_ARRAY_LEN(members); i++) {
    const json_t *m = json_object_get(v, members[i]);
    if (json_is_string(m))
      cli_xml_text(x, members[i], json_string_value(m));
    else
      cli_xml_int(x, members[i], json_integer_value(m));
  }
  cli_xml_open(x, "bricks");
  for (size_t i = 0; i < json_array_size(bricks); i++)
    brick_xml(x, json_array_get(bricks, i));
  cli_xml_close(x);
  cli_xml_int(x, "optCount", (long long)json_array_size(options));
  cli_xml_open(x, "options");
  for (size_t i = 0; i < json_array_size(options); i++) {
    cli_xml_open(x, "option");
    cli_xml_text(x, "name", cli_str(json_array_get(options, i), "name"));
    cli_xml_text(x, "value", cli_str(json_array_get(options, i), "value"));
    cli_xml_close(x);
  }
  cli_xml_close(x);
  cli_xml_close(x);
}

void
cli_render_info_xml(struct cli *c, const struct cli_reply *reply)
{
  const json_t *volumes = json_object_get(reply->doc, "volumes");
  struct cli_xml x;
  struct cli_reply head = *reply;
  if (reply->ret && reply->err == 30806) /* the envelope has a sentence of its own */
    head.text = (char *)"Volume does not exist";
  cli_xml_begin(&x, &head);
  cli_xml_open(&x, "volInfo");
  cli_xml_open(&x, "volumes");
  for (size_t i = 0; i < json_array_size(volumes); i++)
    volume_xml(&x, json_array_get(volumes, i));
  cli_xml_int(&x, "count", (long long)json_array_size(volumes));
  cli_xml_end(&x, c->out);
}
