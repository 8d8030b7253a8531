/* SPDX-License-Identifier: Apache-2.0
 *
 * What the process uses, asked of the allocator and of the kernel.
 */
#include "libglusterish/usage.h"
#include "libglusterish/mem.h"
#include "libglusterish/payload.h"

#include <dirent.h>
#include <malloc.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- memory ---- */

const struct gi_metric gi_memory_metrics[] = {
    GI_GAUGE(struct gi_memory, allocated, "bytes", "memory that the program has of the allocator"),
    GI_GAUGE(struct gi_memory, active, "bytes", "memory in pages of which something is allocated"),
    GI_GAUGE(struct gi_memory, resident, "bytes", "memory that the allocator has of the machine"),
    GI_GAUGE(struct gi_memory, mapped, "bytes", "memory in mappings of the allocator that are in use"),
    GI_GAUGE(struct gi_memory, payload_live, "bytes", "memory of payload in use"),
    GI_GAUGE(struct gi_memory, payload_kept, "bytes", "memory kept for payload to come"),
    GI_METRIC_END,
};

/* jemalloc's, where the program is linked with it; a sanitizer brings an allocator of its own. */
int mallctl(const char *name, void *old, size_t *old_len, void *new, size_t new_len) __attribute__((weak));

static uint64_t
ask_allocator(const char *name)
{
  size_t value = 0, len = sizeof(value);
  return mallctl(name, &value, &len, NULL, 0) == 0 ? value : 0;
}

void
gi_memory_look(struct gi_memory *m)
{
  *m = (struct gi_memory){.payload_live = gi_buf_bytes_live, .payload_kept = gi_buf_bytes_kept()};
  if (!mallctl) {
    struct mallinfo2 info = mallinfo2();
    m->allocated = info.uordblks + info.hblkhd;
    return;
  }
  uint64_t epoch = 1; /* the figures are those of the last epoch: begin one */
  mallctl("epoch", NULL, NULL, &epoch, sizeof(epoch));
  m->allocated = ask_allocator("stats.allocated");
  m->active = ask_allocator("stats.active");
  m->resident = ask_allocator("stats.resident");
  m->mapped = ask_allocator("stats.mapped");
}

/* ---- the kernel's view ---- */

const struct gi_metric gi_usage_metrics[] = {
    GI_GAUGE(struct gi_usage, start_time, "s", "when the process began, since 1970"),
    GI_GAUGE(struct gi_usage, uptime, "ns", "how long ago that is"),
    GI_METRIC(struct gi_usage, cpu_user, "us", "processor time outside of the kernel"),
    GI_METRIC(struct gi_usage, cpu_system, "us", "processor time in the kernel"),
    GI_GAUGE(struct gi_usage, resident, "bytes", "memory of the process in the machine's"),
    GI_GAUGE(struct gi_usage, address_space, "bytes", "addresses that the process has taken"),
    GI_GAUGE(struct gi_usage, threads, "", "threads"),
    GI_GAUGE(struct gi_usage, open_fds, "", "open file descriptors"),
    GI_GAUGE(struct gi_usage, fds_limit, "", "most that it may have"),
    GI_METRIC(struct gi_usage, switches_voluntary, "", "times that a thread gave up the processor to wait"),
    GI_METRIC(struct gi_usage, switches_involuntary, "", "times that one was made to"),
    GI_METRIC(struct gi_usage, payload_copied, "bytes", "payload copied in user space"),
    GI_METRIC_END,
};

/* Kernels from 6.2 on have the number at hand; counting is slow where there are many. */
static uint64_t
count_fds(void)
{
  struct stat st;
  uint64_t n = 0;
  if (stat("/proc/self/fd", &st) == 0 && st.st_size > 0)
    return (uint64_t)st.st_size;
  DIR *d = opendir("/proc/self/fd");
  for (const struct dirent *e = d ? readdir(d) : NULL; e; e = readdir(d))
    n += e->d_name[0] != '.';
  if (d)
    closedir(d);
  return n > 0 ? n - 1 : 0; /* without the one that counts */
}

static uint64_t
count_threads(void)
{
  struct stat st;
  return stat("/proc/self/task", &st) == 0 && st.st_nlink > 2 ? st.st_nlink - 2 : 0;
}

static uint64_t
us(struct timeval tv)
{
  return (uint64_t)tv.tv_sec * 1000000 + (uint64_t)tv.tv_usec;
}

void
gi_usage_look(struct gi_usage *u, struct gi_time started, uint64_t age_ns)
{
  struct rusage r = {0};
  struct rlimit limit = {0};
  unsigned long long size = 0, resident = 0;
  uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
  FILE *f = fopen("/proc/self/statm", "re");
  if (f && fscanf(f, "%llu %llu", &size, &resident) != 2)
    size = resident = 0;
  if (f)
    fclose(f);
  int ret = getrusage(RUSAGE_SELF, &r);
  GI_ASSERT(ret == 0);
  getrlimit(RLIMIT_NOFILE, &limit);
  *u = (struct gi_usage){
      .start_time = (uint64_t)started.sec,
      .uptime = age_ns,
      .cpu_user = us(r.ru_utime),
      .cpu_system = us(r.ru_stime),
      .resident = resident * page,
      .address_space = size * page,
      .threads = count_threads(),
      .open_fds = count_fds(),
      .fds_limit = limit.rlim_cur,
      .switches_voluntary = (uint64_t)r.ru_nvcsw,
      .switches_involuntary = (uint64_t)r.ru_nivcsw,
      .payload_copied = gi_payload_copied,
  };
}
