/* SPDX-License-Identifier: Apache-2.0
 *
 * What the tests of performance/md-cache share: a stack, replies with attributes, and questions that say whether the
 * brick was asked.
 */
#ifndef MD_RIG_H
#define MD_RIG_H

#include "tests/unit/fake.h"

#define FILE_A 5
#define FILE_B 6
#define DIRECTORY 8
#define CAPABILITY "security.capability"

struct look {
  uint8_t of;
  uint64_t size;
  int64_t time;
};

/* What a change found and left. */
struct step {
  struct look found, left;
};

struct gi_iatt iatt(uint8_t of, uint64_t size, int64_t time);
void fill_stat(struct gi_fop *fop, void *arg);
void fill_change(struct gi_fop *fop, void *arg);
struct fake_stack *stack(const char *options);
int md_setup(void **state);
int md_teardown(void **state);
uint64_t metric(const struct fake_stack *s, const char *name);
struct gi_fop *on_fd(struct fake_stack *s, enum gi_fop_kind kind, uint8_t file);
struct gi_fop *at(struct fake_stack *s, enum gi_fop_kind kind, uint8_t file);
struct gi_fop *sent(struct fake_stack *s, struct gi_fop *f);
bool asked(struct fake_stack *s, uint8_t file, uint64_t size, int64_t time);
void know(struct fake_stack *s, uint8_t file, uint64_t size, int64_t time);
struct gi_fop *wrote(struct fake_stack *s, enum gi_fop_kind kind, struct step *step);
void hold(struct fake_stack *s, enum gi_fop_kind kind);
void release_change(struct fake_stack *s, struct gi_fop *f, struct step *step);
void fill_made(struct gi_fop *fop, void *arg);
void fill_set(struct gi_fop *fop, void *arg);
void look_up(struct fake_stack *s, const char *has);
void fill_value(struct gi_fop *fop, void *arg);
bool asked_for(struct fake_stack *s, const char *name, const char *value);
void set_value(struct fake_stack *s, const char *name, const char *value);

#endif
