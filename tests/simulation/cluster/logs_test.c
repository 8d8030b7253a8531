/* SPDX-License-Identifier: Apache-2.0
 *
 * What a cluster writes to its logs in hours of virtual time: next to nothing
 * in a day in which nothing happens, and a bounded number of lines while a
 * brick is down and somebody writes.
 */
#include "tests/simulation/cluster/ops.h"
#include "tests/simulation/world/reactor.h"
#include "libglusterish/log.h"
#include "libglusterish/task.h"

#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#define HOUR (3600 * SIM_S)
#define PROCESSES 64
#define IDLE_LINES 10 /* a day and process, at most */
#define STORM_HOURS 3
/* A message: the first ones, and then those with ever longer pauses between. */
#define STORM_LINES (GI_LOG_BURST + 12 + STORM_HOURS * 3600 / GI_LOG_PAUSE_MAX_S)

static struct {
  struct sim_world *w;
  struct sim_cluster *c;
  unsigned messages[PROCESSES]; /* by the id of the reactor; 0: nobody's */
  char path[PATH_MAX];
} day;

/* The log asks the time once for each message, and more often only where it has held some back. */
static void
log_clock(struct timespec *now)
{
  unsigned id = day.w->current ? day.w->current->id : 0;
  if (id < PROCESSES)
    day.messages[id]++;
  *now = (struct timespec){.tv_sec = (time_t)(day.w->now / SIM_S), .tv_nsec = (long)(day.w->now % SIM_S)};
}

static char *
log_text(void)
{
  static char text[4 << 20];
  int fd = open(day.path, O_RDONLY | O_CLOEXEC);
  assert_true(fd >= 0);
  ssize_t n = read(fd, text, sizeof(text) - 1);
  close(fd);
  assert_true(n >= 0);
  text[n] = 0;
  return text;
}

static void
begin(void (*session)(struct sim_client *c))
{
  struct sim_cluster_config config = {.bricks = 3, .clients = 2, .healers = true};
  day.w = sim_world_new(1);
  sim_net_new(day.w);
  sim_config_draw(&config, 1);
  day.c = sim_cluster_new(day.w, &config);
  snprintf(day.path, sizeof(day.path), "/tmp/gi-logs-test-XXXXXX");
  int fd = mkstemp(day.path);
  assert_true(fd >= 0);
  close(fd);
  gi_log_set_clock(log_clock);
  assert_int_equal(gi_log_open(day.path, GI_LOG_INFO, false), 0);
  sim_cluster_start(day.c);
  sim_world_run(day.w, day.w->now + 60 * SIM_S, NULL);
  assert_true(sim_cluster_clients_up(day.c));
  for (unsigned i = 0; i < config.clients; i++)
    sim_client_begin(&day.c->client[i], session);
  sim_world_run(day.w, day.w->now + 120 * SIM_S, NULL);
  assert_true(strstr(log_text(), "accepted client") != NULL);
}

/* What is left is abandoned: the test is over. */
static void
end(void)
{
  assert_string_equal(day.w->violation, "");
  GI_IGNORE(gi_log_open("-", GI_LOG_NONE, false));
  gi_log_set_clock(NULL);
  unlink(day.path);
}

/* A file is written, stays open, and that is all. */
static void
idle_session(struct sim_client *c)
{
  struct gi_inode *root = sim_op_root(c);
  struct gi_fd *fd = NULL;
  char name[] = "idle-0";
  name[5] = (char)('0' + c->number);
  assert_int_equal(sim_op_create(c, root, name, O_RDWR, &fd), 0);
  assert_int_equal(sim_op_write(c, fd, 0, "x", 1, NULL, NULL), 1);
  while (!c->leave)
    sim_op_pause(c, 24 * HOUR);
}

static void
a_day_of_idleness_leaves_the_logs_alone(void **state)
{
  begin(idle_session);
  memset(day.messages, 0, sizeof(day.messages));
  sim_world_run(day.w, day.w->now + 24 * HOUR, NULL);
  for (unsigned i = 0; i < PROCESSES; i++)
    if (day.messages[i] > IDLE_LINES)
      fail_msg("process %u has %u messages:\n%s", i, day.messages[i], log_text());
  end();
}

static void
writing_session(struct sim_client *c)
{
  struct gi_inode *root = sim_op_root(c);
  struct gi_fd *fd = NULL;
  char name[] = "busy-0";
  name[5] = (char)('0' + c->number);
  assert_int_equal(sim_op_create(c, root, name, O_RDWR, &fd), 0);
  for (uint64_t i = 0; !c->leave; i++) {
    sim_op_write(c, fd, i % 100 * 512, "x", 1, NULL, NULL);
    sim_op_pause(c, 30 * SIM_S);
  }
}

/* The lines of each message, a number in one domain, and that none but the first has two in a second. */
static void
check_storm(void)
{
  static struct {
    char key[160], second[32];
    unsigned lines;
  } message[512];
  unsigned n = 0;
  for (char *line = log_text(), *next; *line; line = next) {
    char key[160], second[32], domain[100];
    unsigned id, i = 0;
    next = strchr(line, '\n');
    assert_non_null(next);
    *next++ = 0;
    if (sscanf(line, "[%*s %31[^.].%*s %*s %*c [MSGID: %u] [%*[^]]] 0-%99[^:]:", second, &id, domain) != 3)
      fail_msg("no line of a log: %s", line);
    snprintf(key, sizeof(key), "%u %s", id, domain);
    while (i < n && strcmp(message[i].key, key) != 0)
      i++;
    assert_true(i < GI_ARRAY_LEN(message));
    n += i == n;
    if (message[i].lines > GI_LOG_BURST && strcmp(message[i].second, second) == 0)
      fail_msg("twice in a second: %s", line);
    if (++message[i].lines > STORM_LINES)
      fail_msg("more than %u lines: %s", (unsigned)STORM_LINES, line);
    snprintf(message[i].key, sizeof(message[i].key), "%s", key);
    snprintf(message[i].second, sizeof(message[i].second), "%s", second);
  }
  assert_true(n > 3);
}

static void
a_brick_that_stays_down_is_told_in_few_lines(void **state)
{
  begin(writing_session);
  sim_machine_crash(&day.c->machine[1]);
  sim_world_run(day.w, day.w->now + STORM_HOURS * HOUR, NULL);
  if (!strstr(log_text(), "times in the last 60"))
    fail_msg("no message came often:\n%s", log_text());
  check_storm();
  end();
}

int
main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_day_of_idleness_leaves_the_logs_alone),
      cmocka_unit_test(a_brick_that_stays_down_is_told_in_few_lines),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
