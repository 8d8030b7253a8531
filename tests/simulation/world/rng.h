/* SPDX-License-Identifier: Apache-2.0
 *
 * Chance, from a seed: xoshiro256** (Blackman and Vigna), its state filled by
 * splitmix64. Whoever needs chance has a generator of its own, so that one
 * more draw here does not change what happens there.
 */
#ifndef SIM_RNG_H
#define SIM_RNG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sim_rng {
  uint64_t s[4];
};

static inline uint64_t
sim_mix(uint64_t *state)
{
  uint64_t z = (*state += 0x9e3779b97f4a7c15ull);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
  return z ^ (z >> 31);
}

/* `stream` tells generators of one seed apart. */
static inline struct sim_rng
sim_rng_new(uint64_t seed, uint64_t stream)
{
  struct sim_rng rng;
  uint64_t state = seed ^ sim_mix(&stream);
  for (unsigned i = 0; i < 4; i++)
    rng.s[i] = sim_mix(&state);
  return rng;
}

static inline uint64_t
sim_rng_u64(struct sim_rng *rng)
{
  uint64_t *s = rng->s, x = s[1] * 5, result = ((x << 7) | (x >> 57)) * 9, t = s[1] << 17;
  s[2] ^= s[0];
  s[3] ^= s[1];
  s[1] ^= s[2];
  s[0] ^= s[3];
  s[2] ^= t;
  s[3] = (s[3] << 45) | (s[3] >> 19);
  return result;
}

/* 0 … n - 1; n must not be 0. */
static inline uint64_t
sim_rng_below(struct sim_rng *rng, uint64_t n)
{
  return (uint64_t)(((unsigned __int128)sim_rng_u64(rng) * n) >> 64);
}

static inline uint64_t
sim_rng_between(struct sim_rng *rng, uint64_t min, uint64_t max) /* both included */
{
  return min + sim_rng_below(rng, max - min + 1);
}

/* True in `permille` of 1000 cases. */
static inline bool
sim_rng_chance(struct sim_rng *rng, unsigned permille)
{
  return sim_rng_below(rng, 1000) < permille;
}

static inline void
sim_rng_fill(struct sim_rng *rng, void *out, size_t len)
{
  uint8_t *p = out;
  for (size_t i = 0; i < len;) {
    uint64_t v = sim_rng_u64(rng);
    for (unsigned k = 0; k < 8 && i < len; k++, v >>= 8)
      p[i++] = (uint8_t)v;
  }
}

#endif
