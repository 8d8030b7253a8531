/* SPDX-License-Identifier: Apache-2.0
 *
 * Writing Chrome trace JSON. See trace.h.
 */
#include "tests/simulation/world/trace.h"
#include "tests/simulation/world/reactor.h"

#include <errno.h>
#include <stdarg.h>

struct sim_trace {
  FILE *out;
  bool any;
};

/* Names of processes, translators and faults, and what violations quote: enough of JSON for them. */
static void
put_string(FILE *out, const char *s)
{
  fputc('"', out);
  for (; *s; s++) {
    if (*s == '"' || *s == '\\')
      fputc('\\', out);
    fputc((unsigned char)*s < 0x20 ? ' ' : *s, out);
  }
  fputc('"', out);
}

static FILE *
begin(struct sim_world *w, const char *phase, unsigned pid, const char *name)
{
  FILE *out = w->trace->out;
  fprintf(out, "%s{\"ph\":\"%s\",\"pid\":%u,\"tid\":0,\"ts\":%llu.%03u,\"name\":", w->trace->any ? ",\n" : "[\n", phase, pid,
          (unsigned long long)(w->now / 1000), (unsigned)(w->now % 1000));
  w->trace->any = true;
  put_string(out, name);
  return out;
}

static unsigned
pid_of(const struct sim_reactor *r)
{
  return r ? r->id & 0xff : 0;
}

int
sim_trace_open(struct sim_world *w, const char *path)
{
  FILE *out = fopen(path, "we");
  if (out == NULL)
    return -errno;
  w->trace = gi_new(struct sim_trace);
  w->trace->out = out;
  sim_trace_process(w, 0, "the world");
  return 0;
}

void
sim_trace_close(struct sim_world *w)
{
  if (w->trace == NULL)
    return;
  fprintf(w->trace->out, "\n]\n");
  fclose(w->trace->out);
  gi_free(w->trace);
  w->trace = NULL;
}

void
sim_trace_process(struct sim_world *w, unsigned pid, const char *name)
{
  if (w->trace == NULL)
    return;
  FILE *out = begin(w, "M", pid, "process_name");
  fprintf(out, ",\"args\":{\"name\":");
  put_string(out, name);
  fprintf(out, "}}");
}

void
sim_trace_mark(struct sim_world *w, const struct sim_reactor *r, const char *category, const char *fmt, ...)
{
  char text[512];
  va_list ap;
  if (w->trace == NULL)
    return;
  va_start(ap, fmt);
  vsnprintf(text, sizeof(text), fmt, ap);
  va_end(ap);
  FILE *out = begin(w, "i", pid_of(r), text);
  fprintf(out, ",\"cat\":\"%s\",\"s\":\"%s\"}", category, r ? "p" : "g");
}

void
sim_trace_begin(struct sim_world *w, const struct sim_reactor *r, const char *name, uint64_t id)
{
  if (w->trace == NULL)
    return;
  fprintf(begin(w, "b", pid_of(r), name), ",\"cat\":\"fop\",\"id\":%llu}", (unsigned long long)id);
}

void
sim_trace_end(struct sim_world *w, const struct sim_reactor *r, const char *name, uint64_t id, const char *result)
{
  if (w->trace == NULL)
    return;
  FILE *out = begin(w, "e", pid_of(r), name);
  fprintf(out, ",\"cat\":\"fop\",\"id\":%llu,\"args\":{\"result\":", (unsigned long long)id);
  put_string(out, result);
  fprintf(out, "}}");
}
