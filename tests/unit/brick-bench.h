/* SPDX-License-Identifier: Apache-2.0
 *
 * A brick and a client of it in one process, over loopback: protocol/server on
 * a scripted child, protocol/client above the network. Each side is a fake
 * stack with its own reactor; both are turned in turns.
 */
#ifndef BRICK_BENCH_H
#define BRICK_BENCH_H

#include "tests/unit/fake.h"

#define BENCH_BRICK "child-0"

struct bench {
  struct fake_stack *server; /* NULL while the brick is down */
  struct fake_stack *client;
  int port;
};

/* `*_options` are volfile lines or NULL. Waits until the client says CHILD_UP, unless `wait` is false. */
struct bench *bench_new(const char *server_options, const char *client_options, bool wait);
void bench_free(struct bench *b);
void bench_stop_server(struct bench *b);
void bench_start_server(struct bench *b, const char *options);                    /* on the same port */
void bench_set_option(struct fake_stack *s, const char *name, const char *value); /* of the translator under test, live */
/* Turns both sides until `*flag` is at least `want` or five seconds passed; false then. */
bool bench_until(struct bench *b, const unsigned *flag, unsigned want);
void bench_turn(struct bench *b, unsigned ms); /* turns both sides for that long */
/* Turns until what was sent is answered (fails the test if it is not). */
void bench_await(struct bench *b, const struct gi_fop *f);
/* Submits at the client and turns until it is answered (fails the test if it is not). */
void bench_submit(struct bench *b, struct gi_fop *f);
/* Submits without waiting. */
void bench_send(struct bench *b, struct gi_fop *f);
/* A descriptor of inode n that the brick knows. */
struct gi_fd *bench_open(struct bench *b, uint8_t n, uint32_t flags);
/* An operation of any kind with sound arguments; `fd` is needed where the kind works on one. */
struct gi_fop *bench_request(struct bench *b, enum gi_fop_kind kind, struct gi_fd *fd);

#endif
