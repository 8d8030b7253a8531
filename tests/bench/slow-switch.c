/* SPDX-License-Identifier: Apache-2.0
 *
 * slow-switch FILE INTERFACE...: a switch between network interfaces on which
 * everything takes a while. FILE says how long, in microseconds, and is read
 * again at SIGHUP. Frames pass as the kernel hands them over, with checksums and
 * segments still to be made, so a long one is one frame here, too.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_packet.h>
#include <linux/virtio_net.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>

#define PORTS 16
#define STATIONS 64     /* whose port is known */
#define FRAME_MAX 70000 /* with the kernel's description before it */
#define BUFFER (32 << 20)

struct frame {
  struct frame *next;
  uint64_t due;
  unsigned to; /* PORTS: all but `from` */
  unsigned from;
  size_t len;
  char bytes[];
};

static struct {
  unsigned n;
  struct pollfd port[PORTS];
  unsigned stations;
  struct {
    uint8_t address[ETH_ALEN];
    unsigned port;
  } station[STATIONS];
  struct frame *first, **last;
  uint64_t delay; /* ns */
} sw = {.last = &sw.first};

static volatile sig_atomic_t read_again;

static void
complain(const char *what)
{
  fprintf(stderr, "slow-switch: %s: %s\n", what, strerror(errno));
  exit(1);
}

static uint64_t
now(void)
{
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void
hang_up(int signo)
{
  read_again = 1;
}

static void
read_delay(const char *path)
{
  unsigned us;
  FILE *f = fopen(path, "re");
  if (!f || fscanf(f, "%u", &us) != 1)
    complain(path);
  fclose(f);
  sw.delay = us * 1000ull;
}

static void
open_port(const char *name)
{
  int fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, htons(ETH_P_ALL)), on = 1, buffer = BUFFER;
  struct sockaddr_ll at = {.sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL), .sll_ifindex = (int)if_nametoindex(name)};
  struct packet_mreq all = {.mr_ifindex = at.sll_ifindex, .mr_type = PACKET_MR_PROMISC};
  if (sw.n == PORTS || fd < 0 || !at.sll_ifindex || setsockopt(fd, SOL_PACKET, PACKET_VNET_HDR, &on, sizeof(on)) ||
      setsockopt(fd, SOL_PACKET, PACKET_IGNORE_OUTGOING, &on, sizeof(on)) ||
      setsockopt(fd, SOL_PACKET, PACKET_ADD_MEMBERSHIP, &all, sizeof(all)) || bind(fd, (struct sockaddr *)&at, sizeof(at)))
    complain(name);
  setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &buffer, sizeof(buffer));
  setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &buffer, sizeof(buffer));
  sw.port[sw.n++] = (struct pollfd){.fd = fd, .events = POLLIN};
}

/* ---- where to ---- */

static unsigned
port_of(const uint8_t *address)
{
  unsigned i = 0;
  while (i < sw.stations && memcmp(sw.station[i].address, address, ETH_ALEN) != 0)
    i++;
  return i < sw.stations ? sw.station[i].port : PORTS;
}

static void
learn(const uint8_t *address, unsigned port)
{
  unsigned i = 0;
  while (i < sw.stations && memcmp(sw.station[i].address, address, ETH_ALEN) != 0)
    i++;
  if (i == STATIONS)
    return;
  memcpy(sw.station[i].address, address, ETH_ALEN);
  sw.station[i].port = port;
  sw.stations += i == sw.stations;
}

/* ---- frames ---- */

/* False: there is none. */
static bool
take(unsigned port)
{
  static char buffer[FRAME_MAX];
  ssize_t n = recv(sw.port[port].fd, buffer, sizeof(buffer), MSG_DONTWAIT);
  const uint8_t *ether = (uint8_t *)buffer + sizeof(struct virtio_net_hdr);
  if (n < (ssize_t)(sizeof(struct virtio_net_hdr) + ETH_HLEN))
    return n >= 0;
  learn(ether + ETH_ALEN, port);
  unsigned to = port_of(ether);
  if (to == port)
    return true;
  struct frame *f = malloc(sizeof(*f) + (size_t)n);
  if (!f)
    complain("memory");
  *f = (struct frame){.due = now() + sw.delay, .to = to, .from = port, .len = (size_t)n};
  memcpy(f->bytes, buffer, f->len);
  *sw.last = f;
  sw.last = &f->next;
  return true;
}

static void
pass(const struct frame *f, unsigned port)
{
  if (send(sw.port[port].fd, f->bytes, f->len, 0) < 0 && errno != ENOBUFS && errno != ENETDOWN)
    perror("slow-switch: send");
}

/* ns until the next one is due, 0: nothing is on its way. */
static uint64_t
pass_due(void)
{
  for (struct frame *f; (f = sw.first) != NULL;) {
    uint64_t t = now();
    if (f->due > t)
      return f->due - t;
    for (unsigned p = 0; p < sw.n; p++)
      if (p == f->to || (f->to == PORTS && p != f->from))
        pass(f, p);
    sw.first = f->next;
    if (!sw.first)
      sw.last = &sw.first;
    free(f);
  }
  return 0;
}

int
main(int argc, char **argv)
{
  if (argc < 3) {
    fprintf(stderr, "usage: slow-switch FILE INTERFACE...\n");
    return 2;
  }
  read_delay(argv[1]);
  for (int i = 2; i < argc; i++)
    open_port(argv[i]);
  prctl(PR_SET_TIMERSLACK, 1);
  sched_setscheduler(0, SCHED_FIFO,
                     &(struct sched_param){.sched_priority = 1}); /* what is busy here does not delay it further */
  signal(SIGHUP, hang_up);
  for (;;) {
    uint64_t ns = pass_due();
    struct timespec t = {.tv_sec = (time_t)(ns / 1000000000u), .tv_nsec = (long)(ns % 1000000000u)};
    if (ppoll(sw.port, sw.n, ns ? &t : NULL, NULL) < 0 && errno != EINTR)
      complain("ppoll");
    if (read_again) {
      read_again = 0;
      read_delay(argv[1]);
    }
    for (unsigned p = 0; p < sw.n; p++)
      while (take(p))
        pass_due();
  }
}
