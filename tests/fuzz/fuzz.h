/* SPDX-License-Identifier: Apache-2.0
 *
 * Between a fuzz target and what drives it.
 */
#ifndef FUZZ_H
#define FUZZ_H

#include <stddef.h>
#include <stdint.h>

enum {
  FUZZ_STREAM,
  FUZZ_MESSAGE,
  FUZZ_REQUEST,
  FUZZ_REPLY,
  FUZZ_DICT,
  FUZZ_LEGACY,
  FUZZ_CALLBACK,
  FUZZ_PREAMBLE,
  FUZZ_REGIONS,
  FUZZ_STEPS,
  FUZZ_TARGETS
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
/* The target's own n-th input to begin with, of at most `room` bytes; 0: there are no more. */
size_t fuzz_seed(unsigned n, uint8_t *input, size_t room);
void fuzz_finish(void); /* frees what the target keeps between inputs, so that leaks show */

#endif
