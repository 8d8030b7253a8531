/* SPDX-License-Identifier: Apache-2.0
 *
 * stats and top: a sight every interval, and what happened in between.
 */
#include "programs/glusterish/cli.h"
#include "programs/glusterish/rates.h"
#include "libglusterish/options.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#define HEAD_EVERY 20
#define ROWS_MAX 1000
#define CTRL_C 3

static int
put_json(struct cli *c, json_t *doc, size_t flags)
{
  json_dumpf(doc, c->out, flags);
  fputc('\n', c->out);
  fflush(c->out);
  return ferror(c->out) ? CLI_FAILED : CLI_OK;
}

/* A positive number of seconds, or of lines. */
static bool
take_number(struct cli *c, const char *what, const char *text, double *value)
{
  char *end;
  *value = text ? strtod(text, &end) : *value;
  if (!text || (end != text && !*end && *value > 0 && *value <= 86400))
    return true;
  fprintf(c->err, "--%s: %s is no positive number\n", what, text);
  return false;
}

/* ---- stats ---- */

static void
sleep_s(double seconds)
{
  usleep((useconds_t)(seconds * 1e6));
}

static int
stats(struct cli *c, const char *volume, double interval, double count)
{
  json_t *before = sight_take(c, volume, NULL, RATES_LOOK_AT);
  int status = CLI_OK;
  for (unsigned long line = 0; status == CLI_OK && (count <= 0 || line < (unsigned long)count); line++) {
    sleep_s(interval);
    json_t *after = sight_take(c, volume, NULL, RATES_LOOK_AT);
    json_t *rates = rates_between(before, after);
    if (!c->json && line % HEAD_EVERY == 0)
      rates_print_head(c->out);
    if (c->json)
      status = put_json(c, rates, JSON_COMPACT);
    else
      rates_print(c->out, rates);
    status = ferror(c->out) ? CLI_FAILED : status;
    json_decref(rates);
    json_decref(before);
    before = after;
  }
  json_decref(before);
  return status;
}

int
cli_stats(struct cli *c, const struct cli_command *cmd, int n, char **words)
{
  const char *interval = NULL, *count = NULL;
  const struct cli_option options[] = {
      {.name = "interval", .value = &interval}, {.name = "count", .value = &count}, {.name = NULL}};
  double seconds = 1, lines = 0;
  if (!cli_take_options(c, cmd, options, &n, words) || !take_number(c, "interval", interval, &seconds) ||
      !take_number(c, "count", count, &lines))
    return CLI_FAILED;
  if (n > 2)
    return cli_usage(c, cmd);
  return !sight_allowed(c) ? CLI_FAILED : stats(c, n > 1 ? words[1] : NULL, seconds, lines);
}

/* ---- top ---- */

struct screen {
  bool on;
  struct termios usual;
  int rows, columns;
};

/* A terminal at both ends: keys come one by one, Ctrl-C among them, so that the terminal is put back in any case. */
static void
screen_begin(struct screen *s, struct cli *c)
{
  struct winsize size;
  s->on = isatty(fileno(c->in)) && isatty(fileno(c->out)) && tcgetattr(fileno(c->in), &s->usual) == 0;
  s->rows = s->columns = 0;
  if (!s->on)
    return;
  struct termios raw = s->usual;
  raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO | ISIG);
  tcsetattr(fileno(c->in), TCSANOW, &raw);
  if (ioctl(fileno(c->out), TIOCGWINSZ, &size) == 0) {
    s->rows = size.ws_row;
    s->columns = size.ws_col;
  }
  fputs("\033[?25l", c->out); /* no cursor */
}

static void
screen_end(struct screen *s, struct cli *c)
{
  if (!s->on)
    return;
  fputs("\033[?25h", c->out);
  fflush(c->out);
  tcsetattr(fileno(c->in), TCSANOW, &s->usual);
}

/* Waits; false when it is time to go. */
static bool
screen_wait(struct screen *s, struct cli *c, double seconds)
{
  struct pollfd fd = {.fd = fileno(c->in), .events = POLLIN};
  char key;
  if (poll(&fd, 1, (int)(seconds * 1000)) <= 0)
    return true;
  return read(fd.fd, &key, 1) == 1 && key != 'q' && key != CTRL_C;
}

static void
draw(struct screen *s, struct cli *c, const json_t *top)
{
  if (s->on)
    fputs("\033[H\033[J", c->out);
  top_print(c->out, top, s->columns);
  fflush(c->out);
}

static int
top(struct cli *c, const char *volume, enum top_by by, double interval, bool once)
{
  struct screen s = {.on = false};
  unsigned what = top_looks_at(by);
  json_t *before = sight_take(c, volume, NULL, what);
  if (!once && !c->json)
    screen_begin(&s, c);
  bool on = true;
  for (bool first = true; on; first = false) {
    if (s.on && !first)
      on = screen_wait(&s, c, interval);
    else
      sleep_s(s.on ? interval / 10 : interval);
    if (!on)
      break;
    json_t *after = sight_take(c, volume, NULL, what);
    json_t *doc = top_between(before, after, by, s.on && s.rows > 2 ? (size_t)s.rows - 2 : ROWS_MAX);
    if (c->json)
      put_json(c, doc, JSON_INDENT(2));
    else
      draw(&s, c, doc);
    json_decref(doc);
    json_decref(before);
    before = after;
    on = s.on;
  }
  json_decref(before);
  screen_end(&s, c);
  return ferror(c->out) ? CLI_FAILED : CLI_OK;
}

int
cli_top(struct cli *c, const struct cli_command *cmd, int n, char **words)
{
  const char *by = NULL, *interval = NULL;
  bool once = false;
  const struct cli_option options[] = {
      {.name = "by", .value = &by}, {.name = "interval", .value = &interval}, {.name = "once", .flag = &once}, {.name = NULL}};
  enum top_by what = TOP_CLIENT;
  double seconds = 1;
  if (!cli_take_options(c, cmd, options, &n, words) || !take_number(c, "interval", interval, &seconds))
    return CLI_FAILED;
  if (by && !top_by_name(by, &what))
    return cli_bad(c, cmd, "--by: %s is none of client, file, operation, brick", by);
  if (n > 2)
    return cli_usage(c, cmd);
  return !sight_allowed(c) ? CLI_FAILED : top(c, n > 1 ? words[1] : NULL, what, seconds, once);
}
