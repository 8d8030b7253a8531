/* SPDX-License-Identifier: Apache-2.0
 *
 * How long operations took between two moments: from what a process tells of
 * all its operations at the one and at the other (/layers?top=1).
 */
#ifndef PROG_SAMPLES_H
#define PROG_SAMPLES_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

/* so many operations took so long, rounded by whoever measured */
struct prog_sample {
  uint64_t ns, count;
};

/* Both are [[ns, count], …] in rising order; NULL is none. The samples are those of `now` without those of `before`, in that order, *n of
 * them; the caller frees them. */
struct prog_sample *prog_samples_between(const json_t *before, const json_t *now, size_t *n);
/* Of samples in rising order; 0: there are none. */
uint64_t prog_samples_quantile(const struct prog_sample *samples, size_t n, double q);

#endif
