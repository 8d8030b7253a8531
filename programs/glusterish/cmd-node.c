/* SPDX-License-Identifier: Apache-2.0
 *
 * peer, pool and system commands (cli.md 5.16, 7).
 */
#include "programs/glusterish/cli.h"

#include <ctype.h>
#include <string.h>

/* ---- peer status, pool list ---- */

static const char *
state_text(long long state)
{
  static const char *const text[] = {"Establishing Connection",
                                     "Probe Sent to Peer",
                                     "Probe Received from Peer",
                                     "Peer in Cluster",
                                     "Accepted peer request",
                                     "Sent and Received peer request",
                                     "Peer Rejected",
                                     "Peer detach in progress",
                                     "Probe Received from peer",
                                     "Connected to Peer",
                                     "Peer is connected and Accepted"};
  return state >= 0 && state < (long long)GI_ARRAY_LEN(text) ? text[state] : "Invalid State";
}

static const char *
connected_text(const json_t *peer)
{
  return cli_true(peer, "connected") ? "Connected" : "Disconnected";
}

static void
peer_xml(struct cli_xml *x, const json_t *p)
{
  const json_t *names = json_object_get(p, "hostnames");
  cli_xml_open(x, "peer");
  cli_xml_text(x, "uuid", cli_str(p, "uuid"));
  cli_xml_text(x, "hostname", cli_str(p, "hostname"));
  cli_xml_open(x, "hostnames");
  for (size_t i = 0; i < json_array_size(names); i++)
    cli_xml_text(x, "hostname", json_string_value(json_array_get(names, i)));
  cli_xml_close(x);
  cli_xml_int(x, "connected", cli_true(p, "connected"));
  cli_xml_int(x, "state", cli_int(p, "state"));
  cli_xml_text(x, "stateStr", state_text(cli_int(p, "state")));
  cli_xml_close(x);
}

static void
peers_xml(struct cli *c, const struct cli_reply *reply, bool with_self)
{
  const json_t *peers = json_object_get(reply->doc, "peers");
  struct cli_xml x;
  cli_xml_begin(&x, reply);
  cli_xml_open(&x, "peerStatus");
  for (size_t i = 0; i < json_array_size(peers); i++)
    peer_xml(&x, json_array_get(peers, i));
  if (with_self) {
    cli_xml_open(&x, "peer");
    cli_xml_text(&x, "uuid", cli_str(reply->doc, "uuid"));
    cli_xml_text(&x, "hostname", "localhost");
    cli_xml_int(&x, "connected", 1);
    cli_xml_close(&x);
  }
  cli_xml_end(&x, c->out);
}

int
cli_peer_status(struct cli *c, const struct cli_command *cmd, int n, char **words)
{
  struct cli_reply reply;
  int status;
  if (n != 2)
    return cli_usage(c, cmd);
  if (cli_ask(c, 3, cli_request("peer status", NULL, n, words), &reply, &status))
    return status;
  const json_t *peers = json_object_get(reply.doc, "peers");
  status = reply.ret && !c->xml ? CLI_FAILED : CLI_OK;
  if (c->xml)
    peers_xml(c, &reply, false);
  else if (reply.ret)
    fprintf(c->err, "peer status: failed: %s\n", reply.text);
  else
    fprintf(c->out, "Number of Peers: %zu\n", json_array_size(peers));
  for (size_t i = 0; i < json_array_size(peers) && !c->xml; i++) {
    const json_t *p = json_array_get(peers, i), *names = json_object_get(p, "hostnames");
    fprintf(c->out, "\nHostname: %s\nUuid: %s\nState: %s (%s)\n", cli_str(p, "hostname"), cli_str(p, "uuid"),
            state_text(cli_int(p, "state")), connected_text(p));
    for (size_t k = 1; k < json_array_size(names); k++)
      fprintf(c->out, "%s%s\n", k == 1 ? "Other names:\n" : "", json_string_value(json_array_get(names, k)));
  }
  cli_reply_clear(&reply);
  return status;
}

int
cli_pool_list(struct cli *c, const struct cli_command *cmd, int n, char **words)
{
  struct cli_reply reply;
  int status, width = 8;
  if (n != 2)
    return cli_usage(c, cmd);
  if (cli_ask(c, 3, cli_request("pool list", NULL, n, words), &reply, &status))
    return status;
  const json_t *peers = json_object_get(reply.doc, "peers");
  status = reply.ret && !c->xml ? CLI_FAILED : CLI_OK;
  for (size_t i = 0; i < json_array_size(peers); i++) {
    int len = (int)strlen(cli_str(json_array_get(peers, i), "hostname"));
    width = len > width ? len : width;
  }
  width = width < 9 && json_array_size(peers) == 0 ? 9 : width; /* "localhost" */
  if (c->xml) {
    peers_xml(c, &reply, true);
  } else if (reply.ret) {
    fprintf(c->err, "pool list: failed: %s\n", reply.text);
  } else {
    fprintf(c->out, "UUID\t\t\t\t\t%-*s\tState\n", width, "Hostname");
    for (size_t i = 0; i < json_array_size(peers); i++) {
      const json_t *p = json_array_get(peers, i);
      fprintf(c->out, "%s\t%-*s\t%s \n", cli_str(p, "uuid"), width, cli_str(p, "hostname"), connected_text(p));
    }
    fprintf(c->out, "%s\t%-*s\tConnected \n", cli_str(reply.doc, "uuid"), width, "localhost");
  }
  cli_reply_clear(&reply);
  return status;
}

/* ---- peer probe, detach ---- */

static bool
is_address(const char *word)
{
  if (!isalnum((unsigned char)*word) && *word != ':')
    return false;
  for (const char *p = word; *p; p++)
    if (!isalnum((unsigned char)*p) && !strchr(".-_:%", *p))
      return false;
  return true;
}

static int
peer_change(struct cli *c, const struct cli_command *cmd, const char *what, unsigned proc, int n, char **words)
{
  struct cli_reply reply;
  int status;
  GI_CLEANUP_FREE char *command = gi_asprintf("peer %s", what);
  if (!is_address(words[2])) {
    fprintf(c->out, "%s is an invalid address\n", words[2]);
    return cli_usage(c, cmd);
  }
  json_t *request = cli_request(command, NULL, n, words);
  json_object_set_new(request, "host", json_string(words[2]));
  json_object_set_new(request, "force", json_boolean(n == 4));
  if (cli_ask(c, proc, request, &reply, &status))
    return status;
  const char *message = cli_str(reply.doc, "message");
  status = reply.ret && !c->xml ? CLI_FAILED : CLI_OK;
  if (c->xml)
    cli_xml_string(c, &reply, NULL, reply.ret ? NULL : *message ? message : "success");
  else if (reply.ret)
    fprintf(c->err, "peer %s: failed: %s\n", what, reply.text);
  else
    fprintf(c->out, "peer %s: %s\n", what, *message ? message : "success");
  cli_reply_clear(&reply);
  return status;
}

int
cli_peer_probe(struct cli *c, const struct cli_command *cmd, int n, char **words)
{
  return n == 3 ? peer_change(c, cmd, "probe", 1, n, words) : cli_usage(c, cmd);
}

int
cli_peer_detach(struct cli *c, const struct cli_command *cmd, int n, char **words)
{
  if (n != 3 && !(n == 4 && strcmp(words[3], "force") == 0))
    return cli_usage(c, cmd);
  if (!cli_confirm(c,
                   "All clients mounted through the peer which is getting detached need to be remounted using one of the other "
                   "active peers in the trusted storage pool to ensure client gets notification on any changes done on the "
                   "gluster configuration and if the same has been done do you want to proceed?"))
    return CLI_OK;
  return peer_change(c, cmd, "detach", 2, n, words);
}

/* ---- pool token, join ---- */

static int
pool_failed(struct cli *c, const char *what, struct cli_reply *reply)
{
  if (c->xml)
    cli_xml_string(c, reply, NULL, NULL);
  else
    fprintf(c->err, "pool %s: failed: %s\n", what, reply->text);
  cli_reply_clear(reply);
  return c->xml ? CLI_OK : CLI_FAILED;
}

int
cli_pool_token(struct cli *c, const struct cli_command *cmd, int n, char **words)
{
  struct cli_reply reply;
  int status;
  if (n != 2)
    return cli_usage(c, cmd);
  if (cli_ask(c, 1, cli_request("pool token", NULL, n, words), &reply, &status))
    return status;
  if (reply.ret)
    return pool_failed(c, "token", &reply);
  if (c->xml)
    cli_xml_string(c, &reply, NULL, cli_str(reply.doc, "token"));
  else
    fprintf(c->out, "%s\n", cli_str(reply.doc, "token"));
  cli_reply_clear(&reply);
  return CLI_OK;
}

int
cli_pool_join(struct cli *c, const struct cli_command *cmd, int n, char **words)
{
  struct cli_reply reply;
  int status;
  const char *at = n == 3 || (n == 5 && strcmp(words[3], "as") == 0) ? strchr(words[2], '@') : NULL;
  const char *as = n == 5 ? words[4] : NULL;
  if (!at || at == words[2] || !is_address(at + 1))
    return cli_usage(c, cmd);
  json_t *request = cli_request("pool join", NULL, n, words);
  /* The token is for no history. */
  json_object_set_new(request, "words", json_sprintf("pool join @%s%s%s", at + 1, as ? " as " : "", as ? as : ""));
  if (as)
    json_object_set_new(request, "as", json_string(as));
  json_object_set_new(request, "token", json_stringn(words[2], (size_t)(at - words[2])));
  json_object_set_new(request, "host", json_string(at + 1));
  if (cli_ask(c, 1, request, &reply, &status))
    return status;
  if (reply.ret)
    return pool_failed(c, "join", &reply);
  if (c->xml)
    cli_xml_string(c, &reply, NULL, "success");
  else
    fputs("pool join: success\n", c->out);
  cli_reply_clear(&reply);
  return CLI_OK;
}

int
cli_pool_recover(struct cli *c, const struct cli_command *cmd, int n, char **words)
{
  struct cli_reply reply;
  int status;
  if (n != 3 || strcmp(words[2], "--force-new") != 0)
    return cli_usage(c, cmd);
  if (!cli_confirm(
          c,
          "The store of the pool is made anew from what this node knows. What the other nodes have stored since is lost, and "
          "those that still run must not change anything meanwhile. Do you want to continue?"))
    return CLI_OK;
  json_t *request = cli_request("pool recover", NULL, n, words);
  json_object_set_new(request, "force-new", json_true());
  if (cli_ask(c, 1, request, &reply, &status))
    return status;
  if (reply.ret)
    return pool_failed(c, "recover", &reply);
  if (c->xml)
    cli_xml_string(c, &reply, NULL, "success");
  else
    fputs("pool recover: success\n", c->out);
  cli_reply_clear(&reply);
  return CLI_OK;
}

int
cli_peer_update(struct cli *c, const struct cli_command *cmd, int n, char **words)
{
  struct cli_reply reply;
  int status;
  json_t *addresses = json_array();
  for (int i = 2; i < n; i++)
    if (!is_address(words[i]))
      n = 0;
    else if (i > 2)
      json_array_append_new(addresses, json_string(words[i]));
  if (n < 4) {
    json_decref(addresses);
    return cli_usage(c, cmd);
  }
  json_t *request = cli_request("peer update", NULL, n, words);
  json_object_set_new(request, "host", json_string(words[2]));
  json_object_set_new(request, "addresses", addresses);
  if (cli_ask(c, 1, request, &reply, &status))
    return status;
  status = reply.ret && !c->xml ? CLI_FAILED : CLI_OK;
  if (c->xml)
    cli_xml_string(c, &reply, NULL, reply.ret ? NULL : "success");
  else if (reply.ret)
    fprintf(c->err, "peer update: failed: %s\n", reply.text);
  else
    fputs("peer update: success\n", c->out);
  cli_reply_clear(&reply);
  return status;
}

/* ---- system:: ---- */

static int
system_text(struct cli *c, unsigned proc, json_t *request, const char *member, const char *prefix)
{
  struct cli_reply reply;
  int status;
  if (cli_ask(c, proc, request, &reply, &status))
    return status;
  status = reply.ret ? CLI_FAILED : CLI_OK;
  if (!reply.ret)
    fprintf(c->out, "%s%s\n", prefix, cli_str(reply.doc, member));
  cli_reply_clear(&reply);
  return status;
}

int
cli_system_getspec(struct cli *c, const struct cli_command *cmd, int n, char **words)
{
  if (n != 3)
    return cli_usage(c, cmd);
  return system_text(c, 17, cli_request("system getspec", words[2], n, words), "spec", "");
}

int
cli_system_getwd(struct cli *c, const struct cli_command *cmd, int n, char **words)
{
  return system_text(c, 26, cli_request("system getwd", NULL, n, words), "wd", "");
}

int
cli_system_uuid(struct cli *c, const struct cli_command *cmd, int n, char **words)
{
  struct cli_reply reply;
  struct cli_xml x;
  int status;
  if (!c->xml)
    return system_text(c, 36, cli_request("system uuid get", NULL, n, words), "uuid", "UUID: ");
  if (cli_ask(c, 36, cli_request("system uuid get", NULL, n, words), &reply, &status))
    return status;
  cli_xml_begin(&x, &reply);
  cli_xml_open(&x, "uuidGenerate");
  cli_xml_text(&x, "uuid", cli_str(reply.doc, "uuid"));
  cli_xml_end(&x, c->out);
  cli_reply_clear(&reply);
  return CLI_OK;
}
