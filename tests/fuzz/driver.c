/* SPDX-License-Identifier: Apache-2.0
 *
 * A small stand-in for libFuzzer: takes the recorded messages of
 * tests/golden/rpc.txt, mutates them with a seeded generator and feeds them to
 * the target for a number of seconds. The same seed gives the same inputs; a
 * failing one is written to ./crash-SEED-N before it is run, and stays there.
 *
 *   driver [SECONDS [SEED]]      default 2 s, seed 1
 *   driver --corpus DIR          writes the unmutated inputs for libFuzzer
 *   driver --replay FILE         runs one input
 */
#include "libglusterish/mem.h"
#include "tests/fuzz/fuzz.h"

#include <arpa/inet.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define INPUTS_MAX 4096
#define INPUT_BYTES (1u << 16)

struct input {
  uint8_t *data;
  size_t len;
};

static struct input inputs[INPUTS_MAX];
static size_t ninputs;
static uint64_t state;

static uint64_t
chance(void) /* xorshift64* */
{
  state ^= state >> 12;
  state ^= state << 25;
  state ^= state >> 27;
  return state * 2685821657736338717ull;
}

static void
add(unsigned target, unsigned kind, const void *head, size_t head_len, const void *data, size_t len)
{
  if (ninputs == INPUTS_MAX || 2 + head_len + len > INPUT_BYTES)
    return;
  struct input *in = &inputs[ninputs++];
  in->len = 2 + head_len + len;
  in->data = gi_alloc(in->len);
  in->data[0] = (uint8_t)target;
  in->data[1] = (uint8_t)kind;
  memcpy(in->data + 2, head, head_len);
  memcpy(in->data + 2 + head_len, data, len);
}

static uint32_t
word(const uint8_t *p)
{
  uint32_t v;
  memcpy(&v, p, sizeof(v));
  return ntohl(v);
}

/* One recorded message becomes an input for every target it suits. */
static void
add_record(bool call, unsigned prog, unsigned proc, const uint8_t *record, size_t len)
{
  uint32_t mark = htonl(0x80000000u | (uint32_t)len);
  size_t body = call && len > 32 ? 32 + ((word(record + 28) + 3) & ~3u) + 8 : 24;
  add(FUZZ_STREAM, 0, &mark, 4, record, len);
  add(FUZZ_MESSAGE, 0, "", 0, record, len);
  if (body > len)
    return;
  if (prog == 52743234)
    add(FUZZ_CALLBACK, proc == 5 ? 2 : proc & 1, "", 0, record + body, len - body);
  if (prog == 1298437)
    add(call ? FUZZ_REQUEST : FUZZ_REPLY, proc, "", 0, record + body, len - body);
  for (size_t at = body; at + 12 <= len && prog == 1298437; at += 4) {
    /* A dict is where size, count and length fit together. */
    if (word(record + at + 4) == word(record + at + 8) && word(record + at + 8) > 0 && word(record + at) < len - at - 11)
      add(FUZZ_DICT, 0, "", 0, record + at, 12 + word(record + at));
  }
  for (size_t at = body; at + 8 < len && prog == 14398633; at += 4) {
    if (word(record + at) > 8 && word(record + at) <= len - at - 4)
      add(FUZZ_LEGACY, 0, "", 0, record + at + 4, word(record + at));
  }
}

static int
digit(char c)
{
  return c >= 'a' ? c - 'a' + 10 : c - '0';
}

static void
load(void)
{
  const char *dir = getenv("GLUSTERISH_SRCDIR");
  char *path = gi_asprintf("%s/tests/golden/rpc.txt", dir ? dir : "."), *line = NULL;
  size_t size = 0;
  FILE *f = fopen(path, "r");
  if (f == NULL) {
    perror(path);
    exit(1);
  }
  while (getline(&line, &size, f) > 0) {
    char kind[16];
    unsigned prog, proc;
    int hex = 0;
    if (sscanf(line, "%15s %*s %u %*u %u %*s %*u %n", kind, &prog, &proc, &hex) != 3 || hex == 0)
      continue;
    size_t len = strcspn(line + hex, "\n") / 2;
    uint8_t *record = gi_alloc(len + 1);
    for (size_t i = 0; i < len; i++)
      record[i] = (uint8_t)(digit(line[(size_t)hex + 2 * i]) << 4 | digit(line[(size_t)hex + 2 * i + 1]));
    add_record(strcmp(kind, "reply") != 0, prog, proc, record, len);
    gi_free(record);
  }
  free(line);
  fclose(f);
  gi_free(path);
}

static void
load_own(void)
{
  static uint8_t data[INPUT_BYTES];
  size_t len;
  for (unsigned n = 0; (len = fuzz_seed(n, data, sizeof(data))) >= 2; n++)
    add(data[0], data[1], "", 0, data + 2, len - 2);
}

static size_t
mutate_once(uint8_t *p, size_t len)
{
  static const uint32_t odd[] = {0, 1, 2, 3, 0x7fffffff, 0x80000000, 0xffffffff, 0xfffffffe, 0x10000, 400, 401, 1024, 1025};
  size_t at = chance() % len, n;
  uint32_t v;
  switch (chance() % 8) {
  case 0:
    p[at] ^= (uint8_t)(1u << chance() % 8);
    break;
  case 1:
    p[at] = (uint8_t)chance();
    break;
  case 2: /* a word that means something, on a word boundary */
  case 3:
    v = htonl(odd[chance() % GI_ARRAY_LEN(odd)]);
    at = 2 + (at & ~(size_t)3);
    if (at + 4 <= len)
      memcpy(p + at, &v, 4);
    break;
  case 4: /* shorter */
    return at > 1 ? at : len;
  case 5: /* a piece repeated */
    n = 1 + chance() % 64;
    if (at + n <= len && len + n <= INPUT_BYTES) {
      memmove(p + at + n, p + at, len - at);
      return len + n;
    }
    break;
  case 6: /* a piece of another input */
  {
    const struct input *o = &inputs[chance() % ninputs];
    size_t from = chance() % o->len;
    n = 1 + chance() % 256;
    n = n < o->len - from ? n : o->len - from;
    n = n < len - at ? n : len - at;
    memcpy(p + at, o->data + from, n);
  } break;
  case 7: /* a small step */
    if (at + 4 <= len) {
      v = htonl(word(p + at) + (uint32_t)(chance() % 9) - 4);
      memcpy(p + at, &v, 4);
    }
    break;
  }
  return len;
}

static void
run_one(const uint8_t *data, size_t len)
{
  uint8_t *copy = gi_alloc(len); /* of its exact size: the sanitizer sees a read past the end */
  memcpy(copy, data, len);
  LLVMFuzzerTestOneInput(copy, len);
  gi_free(copy);
}

static void
save(const char *path, const uint8_t *data, size_t len)
{
  FILE *f = fopen(path, "w");
  if (f == NULL || fwrite(data, 1, len, f) != len) {
    perror(path);
    exit(1);
  }
  fclose(f);
}

static void
fuzz(unsigned seconds, uint64_t seed)
{
  static uint8_t data[INPUT_BYTES];
  char path[64];
  time_t end = time(NULL) + (time_t)seconds;
  unsigned long n = 0;
  state = seed * 0x9e3779b97f4a7c15ull + 1;
  snprintf(path, sizeof(path), "crash-%llu-%d", (unsigned long long)seed, (int)getpid());
  for (size_t i = 0; i < ninputs; i++)
    run_one(inputs[i].data, inputs[i].len);
  FILE *f = fopen(path, "w"); /* rewritten in place: cheap, and there if we die */
  setvbuf(f, NULL, _IOFBF, INPUT_BYTES);
  for (; time(NULL) < end; n++) {
    const struct input *in = &inputs[chance() % ninputs];
    size_t len = in->len;
    memcpy(data, in->data, len);
    for (uint64_t m = 1 + chance() % 6; m > 0; m--)
      len = mutate_once(data, len);
    rewind(f);
    fwrite(data, 1, len, f);
    fflush(f);
    if (ftruncate(fileno(f), (off_t)len) < 0)
      perror(path);
    run_one(data, len);
  }
  fclose(f);
  unlink(path);
  printf("%lu inputs from %zu seeds in %u s, seed %llu\n", n, ninputs, seconds, (unsigned long long)seed);
}

static void
write_corpus(const char *dir)
{
  mkdir(dir, 0755);
  for (size_t i = 0; i < ninputs; i++) {
    char *path = gi_asprintf("%s/seed-%04zu", dir, i);
    save(path, inputs[i].data, inputs[i].len);
    gi_free(path);
  }
}

static void
replay(const char *path)
{
  static uint8_t data[INPUT_BYTES];
  FILE *f = fopen(path, "r");
  if (f == NULL) {
    perror(path);
    exit(1);
  }
  size_t len = fread(data, 1, sizeof(data), f);
  fclose(f);
  run_one(data, len);
}

int
main(int argc, char **argv)
{
  load();
  load_own();
  if (argc == 3 && strcmp(argv[1], "--corpus") == 0)
    write_corpus(argv[2]);
  else if (argc == 3 && strcmp(argv[1], "--replay") == 0)
    replay(argv[2]);
  else
    fuzz(argc > 1 ? (unsigned)atoi(argv[1]) : 2, argc > 2 ? strtoull(argv[2], NULL, 10) : 1);
  for (size_t i = 0; i < ninputs; i++)
    gi_free(inputs[i].data);
  fuzz_finish();
  return 0;
}
