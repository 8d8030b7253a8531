/* SPDX-License-Identifier: Apache-2.0
 *
 * Options: text in, checked values out. Syntax and wording of the messages are
 * those of volume-options.md, which users and their scripts know.
 */
#include "libglusterish/options.h"
#include "libglusterish/mem.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <strings.h>

/* ---- single parsers ---- */

bool
gi_parse_bool(const char *text, bool *value)
{
  static const char *const yes[] = {"on", "yes", "true", "enable", "1"};
  static const char *const no[] = {"off", "no", "false", "disable", "0"};
  for (unsigned i = 0; i < GI_ARRAY_LEN(yes); i++) {
    if (strcasecmp(text, yes[i]) == 0 || strcasecmp(text, no[i]) == 0) {
      *value = strcasecmp(text, yes[i]) == 0;
      return true;
    }
  }
  return false;
}

bool
gi_parse_int(const char *text, int64_t *value)
{
  const char *digits = *text == '-' || *text == '+' ? text + 1 : text;
  if (!isdigit((unsigned char)*digits)) /* strtoll would skip blanks */
    return false;
  char *end;
  errno = 0;
  long long n = strtoll(text, &end, 0);
  if (*end || errno)
    return false;
  *value = n;
  return true;
}

struct unit {
  const char *name;
  uint64_t factor;
};

static const struct unit *
find_unit(const struct unit *units, const char *name, int (*compare)(const char *, const char *))
{
  for (; units->name; units++) {
    if (compare(units->name, name) == 0)
      return units;
  }
  return NULL;
}

/* Decimal digits; moves *text behind them. False without any or beyond 64 bits. */
static bool
take_digits(const char **text, uint64_t *value)
{
  const char *p = *text;
  uint64_t n = 0;
  for (; isdigit((unsigned char)*p); p++) {
    if (__builtin_mul_overflow(n, 10, &n) || __builtin_add_overflow(n, (uint64_t)(*p - '0'), &n))
      return false;
  }
  if (p == *text)
    return false;
  *text = p;
  *value = n;
  return true;
}

/* A plain decimal such as "12", "1.5", ".5" or "1."; moves *text behind it. */
static bool
take_decimal(const char **text, uint64_t *whole, double *fraction)
{
  const char *p = *text;
  double scale = 0.1;
  *whole = 0;
  *fraction = 0;
  bool digits = isdigit((unsigned char)*p);
  if (digits && !take_digits(&p, whole))
    return false;
  if (*p == '.') {
    for (p++; isdigit((unsigned char)*p); p++, scale /= 10) {
      *fraction += (*p - '0') * scale;
      digits = true;
    }
  }
  *text = p;
  return digits;
}

bool
gi_parse_size(const char *text, uint64_t *bytes)
{
  static const struct unit units[] = {
      {"", 1},  {"B", 1}, {"KB", 1ull << 10}, {"MB", 1ull << 20}, {"GB", 1ull << 30}, {"TB", 1ull << 40}, {"PB", 1ull << 50},
      {NULL, 0}};
  uint64_t whole;
  double fraction;
  if (*text == '+')
    text++;
  if (!take_decimal(&text, &whole, &fraction))
    return false;
  const struct unit *unit = find_unit(units, text, strcasecmp);
  if (!unit || __builtin_mul_overflow(whole, unit->factor, &whole))
    return false;
  return !__builtin_add_overflow(whole, (uint64_t)(fraction * (double)unit->factor), bytes);
}

bool
gi_parse_time(const char *text, uint64_t *seconds)
{
  static const struct unit units[] = {{"", 1},      {"s", 1},     {"sec", 1},      {"m", 60},     {"min", 60},    {"h", 3600},
                                      {"hr", 3600}, {"d", 86400}, {"days", 86400}, {"w", 604800}, {"wk", 604800}, {NULL, 0}};
  uint64_t n;
  if (*text == '+')
    text++;
  if (!take_digits(&text, &n))
    return false;
  const struct unit *unit = find_unit(units, text, strcmp);
  return unit && !__builtin_mul_overflow(n, unit->factor, seconds);
}

/* A finite decimal number: no hexadecimal, blanks, infinity. */
static bool
take_number(const char **text, double *value)
{
  const char *p = *text;
  if (*p == '-' || *p == '+')
    p++;
  if (!isdigit((unsigned char)*p) || (p[0] == '0' && tolower((unsigned char)p[1]) == 'x'))
    return false;
  char *end;
  *value = strtod(*text, &end);
  *text = end;
  return isfinite(*value);
}

static bool
parse_percent(const char *text, double *value)
{
  return *text != '-' && take_number(&text, value) && (!*text || strcmp(text, "%") == 0);
}

/* ---- lists of addresses ---- */

static bool
valid_cidr(const char *text, size_t len)
{
  char addr[INET6_ADDRSTRLEN + 8];
  if (len >= sizeof(addr))
    return false;
  memcpy(addr, text, len);
  addr[len] = '\0';
  char *slash = strchr(addr, '/');
  *slash = '\0';
  int64_t bits;
  uint8_t bin[16];
  if (!gi_parse_int(slash + 1, &bits) || bits < 0)
    return false;
  return (inet_pton(AF_INET, addr, bin) == 1 && bits <= 32) || (inet_pton(AF_INET6, addr, bin) == 1 && bits <= 128);
}

/* Dotted numbers in which a whole part may be '*': "10.*", "192.168.*.1"; at most four parts. */
static bool
valid_ipv4_pattern(const char *text, size_t len)
{
  unsigned parts = 1;
  size_t start = 0;
  for (size_t i = 0; i <= len; i++) {
    if (i < len && text[i] != '.')
      continue;
    size_t n = i - start;
    bool star = n == 1 && text[start] == '*';
    for (size_t k = start; k < i && !star; k++) {
      if (!isdigit((unsigned char)text[k]))
        return false;
    }
    if (n == 0 || n > 3)
      return false;
    parts += i < len;
    start = i + 1;
  }
  return parts <= 4;
}

/* Labels of letters, digits and inner '-'. */
static bool
valid_host(const char *text, size_t len)
{
  char last = '.';
  for (size_t i = 0; i < len; i++) {
    char c = text[i];
    if (!isalnum((unsigned char)c) && c != '-' && c != '.')
      return false;
    if ((last == '.' && !isalnum((unsigned char)c)) || (last == '-' && c == '.'))
      return false;
    last = c;
  }
  return isalnum((unsigned char)last) && len <= 255;
}

static bool
valid_address(const char *text, size_t len)
{
  if (len == 0)
    return false;
  if (memchr(text, '/', len))
    return valid_cidr(text, len);
  if (memchr(text, ':', len)) {
    for (size_t i = 0; i < len; i++) {
      if (!isxdigit((unsigned char)text[i]) && text[i] != ':' && text[i] != '.' && text[i] != '*' && text[i] != '%')
        return false;
    }
    char addr[INET6_ADDRSTRLEN];
    uint8_t bin[16];
    if (memchr(text, '*', len) || len >= sizeof(addr))
      return len < sizeof(addr);
    memcpy(addr, text, len);
    addr[len] = '\0';
    return inet_pton(AF_INET6, addr, bin) == 1;
  }
  return valid_ipv4_pattern(text, len) || valid_host(text, len);
}

/* One item: an address, or "/directory(address|address)" for mounts of a directory. */
static bool
valid_address_item(const char *text, size_t len)
{
  const char *paren = text[0] == '/' ? memchr(text, '(', len) : NULL;
  if (!paren)
    return valid_address(text, len);
  const char *end = text + len - 1;
  if (*end != ')')
    return false;
  for (const char *at = paren + 1; at <= end;) {
    const char *bar = memchr(at, '|', (size_t)(end - at));
    const char *stop = bar ? bar : end;
    if (!valid_address(at, (size_t)(stop - at)))
      return false;
    at = stop + 1;
  }
  return true;
}

/* Empty items are passed over: lists put together by scripts have them. */
static bool
valid_address_list(const char *text)
{
  if (!*text)
    return false;
  for (;;) {
    size_t len = strcspn(text, ",");
    if (len > 0 && !valid_address_item(text, len))
      return false;
    if (!text[len])
      return true;
    text += len + 1;
  }
}

/* ---- one option ---- */

const struct gi_option *
gi_option_find(const struct gi_option *table, const char *name)
{
  if (!table)
    return NULL;
  for (const struct gi_option *o = table; o->name; o++) {
    if (!o->wildcard && (strcmp(o->name, name) == 0 || (o->alias && strcmp(o->alias, name) == 0)))
      return o;
  }
  for (const struct gi_option *o = table; o->name; o++) {
    if (o->wildcard && fnmatch(o->name, name, 0) == 0)
      return o;
  }
  return NULL;
}

/* A parsed value; strings stay in the text. */
union value {
  bool b;
  int64_t i;
  uint64_t u;
  double d;
  struct gi_percent_or_size ps;
  int word;
};

static int
check_range(const struct gi_option *opt, const char *text, double value, const char *shown, double min, double max,
            struct gi_error *err)
{
  if (min == 0 && max == 0)
    return 0;
  if (max <= min || isinf(max)) {
    if (value >= min)
      return 0;
    return gi_error_set(err, EINVAL, "'%s' in 'option %s %s' is smaller than minimum value '%.0f'", shown, opt->name, text,
                        min);
  }
  if (value >= min && value <= max)
    return 0;
  return gi_error_set(err, EINVAL, "'%s' in 'option %s %s' is out of range [%.0f - %.0f]", shown, opt->name, text, min, max);
}

static int
bad_number(const struct gi_option *opt, const char *text, struct gi_error *err)
{
  return gi_error_set(err, EINVAL, "invalid number format \"%s\" in option \"%s\"", text, opt->name);
}

static int
value_int(const struct gi_option *opt, const char *text, union value *v, struct gi_error *err)
{
  char shown[32];
  if (!gi_parse_int(text, &v->i))
    return bad_number(opt, text, err);
  snprintf(shown, sizeof(shown), "%" PRId64, v->i);
  return check_range(opt, text, (double)v->i, shown, opt->min, opt->max, err);
}

static int
value_size(const struct gi_option *opt, const char *text, union value *v, struct gi_error *err)
{
  char shown[32];
  if (!gi_parse_size(text, &v->u))
    return bad_number(opt, text, err);
  snprintf(shown, sizeof(shown), "%" PRIu64, v->u);
  return check_range(opt, text, (double)v->u, shown, opt->min, opt->max, err);
}

static int
value_time(const struct gi_option *opt, const char *text, union value *v, struct gi_error *err)
{
  char shown[32];
  if (!gi_parse_time(text, &v->u))
    return gi_error_set(err, EINVAL, "invalid time format \"%s\" in option \"%s\"", text, opt->name);
  snprintf(shown, sizeof(shown), "%" PRIu64, v->u);
  return check_range(opt, text, (double)v->u, shown, opt->min, opt->max, err);
}

static int
value_double(const struct gi_option *opt, const char *text, union value *v, struct gi_error *err)
{
  char shown[64];
  const char *end = text;
  if (!take_number(&end, &v->d) || *end)
    return bad_number(opt, text, err);
  snprintf(shown, sizeof(shown), "%f", v->d);
  return check_range(opt, text, v->d, shown, opt->min, opt->max, err);
}

static int
check_percent(const struct gi_option *opt, const char *text, double value, struct gi_error *err)
{
  char shown[64];
  snprintf(shown, sizeof(shown), "%f", value);
  return check_range(opt, text, value, shown, 0, 100, err);
}

static int
value_percent(const struct gi_option *opt, const char *text, union value *v, struct gi_error *err)
{
  if (!parse_percent(text, &v->d))
    return gi_error_set(err, EINVAL, "invalid percent format \"%s\" in \"option %s\"", text, opt->name);
  return check_percent(opt, text, v->d, err);
}

static int
value_percent_or_size(const struct gi_option *opt, const char *text, union value *v, struct gi_error *err)
{
  uint64_t bytes;
  double percent;
  size_t len = strlen(text);
  bool has_sign = len > 0 && text[len - 1] == '%';
  bool bare = strspn(text, "0123456789.") == len;
  if (parse_percent(text, &percent) && (has_sign || (bare && percent <= 100))) {
    if (percent != floor(percent))
      return gi_error_set(err, EINVAL,
                          "'%f' in 'option %s %s' should not be fractional value. Use valid unsigned integer value.", percent,
                          opt->name, text);
    v->ps = (struct gi_percent_or_size){.is_percent = true, .value = percent};
    return check_percent(opt, text, percent, err);
  }
  if (!gi_parse_size(text, &bytes))
    return gi_error_set(err, EINVAL, "invalid number format \"%s\" in \"option %s\"", text, opt->name);
  v->ps = (struct gi_percent_or_size){.is_percent = false, .value = (double)bytes};
  return 0;
}

/* Words of a list may be shell patterns. */
static int
value_word(const struct gi_option *opt, const char *text, union value *v, struct gi_error *err)
{
  char list[400];
  size_t len = 0;
  for (int i = 0; opt->words && opt->words[i]; i++) {
    if (strcmp(opt->words[i], text) == 0 || fnmatch(opt->words[i], text, 0) == 0) {
      v->word = i;
      return 0;
    }
    int n = snprintf(list + len, sizeof(list) - len, "%s%s", i ? ", " : "", opt->words[i]);
    len = len + (size_t)n < sizeof(list) ? len + (size_t)n : sizeof(list) - 1;
  }
  list[len] = '\0';
  return gi_error_set(err, EINVAL, "option %s %s: '%s' is not valid (possible options are %s.)", opt->name, text, text, list);
}

static int
parse_value(const struct gi_option *opt, const char *text, union value *v, struct gi_error *err)
{
  GI_ASSERT(opt->name && text);
  switch (opt->type) {
  case GI_OPT_BOOL:
    if (gi_parse_bool(text, &v->b))
      return 0;
    return gi_error_set(err, EINVAL, "option %s %s: '%s' is not a valid boolean value", opt->name, text, text);
  case GI_OPT_INT:
    return value_int(opt, text, v, err);
  case GI_OPT_SIZE:
    return value_size(opt, text, v, err);
  case GI_OPT_PERCENT:
    return value_percent(opt, text, v, err);
  case GI_OPT_PERCENT_OR_SIZE:
    return value_percent_or_size(opt, text, v, err);
  case GI_OPT_TIME:
    return value_time(opt, text, v, err);
  case GI_OPT_DOUBLE:
    return value_double(opt, text, v, err);
  case GI_OPT_STR:
    return opt->words ? value_word(opt, text, v, err) : opt->check ? opt->check(text, err) : 0;
  case GI_OPT_ENUM:
    return value_word(opt, text, v, err);
  case GI_OPT_PATH:
    if (text[0] == '/')
      return 0;
    return gi_error_set(err, EINVAL, "option %s %s: '%s' is not an absolute path name", opt->name, text, text);
  case GI_OPT_ADDRESS_LIST:
    if (valid_address_list(text))
      return 0;
    return gi_error_set(err, EINVAL, "option %s %s: '%s' is not a valid internet-address-list", opt->name, text, text);
  }
  gi_panic(__FILE__, __LINE__, "option type");
}

int
gi_option_check(const struct gi_option *opt, const char *value, struct gi_error *err)
{
  union value v;
  return parse_value(opt, value, &v, err);
}

static bool
is_string(const struct gi_option *opt)
{
  return opt->type == GI_OPT_STR || opt->type == GI_OPT_PATH || opt->type == GI_OPT_ADDRESS_LIST;
}

int
gi_option_parse(const struct gi_option *opt, const char *value, void *values, struct gi_error *err)
{
  union value v;
  if (parse_value(opt, value, &v, err) < 0)
    return -1;
  if (opt->wildcard)
    return 0;
  GI_ASSERT(values);
  void *at = (char *)values + opt->offset;
  if (is_string(opt)) {
    char *copy = gi_strdup(value);
    gi_free(*(char **)at);
    *(char **)at = copy;
    return 0;
  }
  switch (opt->type) {
  case GI_OPT_BOOL:
    *(bool *)at = v.b;
    break;
  case GI_OPT_INT:
    *(int64_t *)at = v.i;
    break;
  case GI_OPT_SIZE:
  case GI_OPT_TIME:
    *(uint64_t *)at = v.u;
    break;
  case GI_OPT_PERCENT:
  case GI_OPT_DOUBLE:
    *(double *)at = v.d;
    break;
  case GI_OPT_PERCENT_OR_SIZE:
    *(struct gi_percent_or_size *)at = v.ps;
    break;
  default:
    GI_ASSERT(opt->type == GI_OPT_ENUM && v.word >= 0);
    *(int *)at = v.word;
    break;
  }
  return 0;
}

void
gi_options_default(const struct gi_option *table, void *values)
{
  for (const struct gi_option *o = table; o && o->name; o++) {
    struct gi_error err;
    if (o->type == GI_OPT_ENUM && !o->def && !o->wildcard)
      *(int *)((char *)values + o->offset) = -1;
    if (o->wildcard || !o->def)
      continue;
    if (gi_option_parse(o, o->def, values, &err) < 0)
      gi_panic(__FILE__, __LINE__, err.text);
  }
}

void
gi_options_free(const struct gi_option *table, void *values)
{
  for (const struct gi_option *o = table; o && o->name; o++) {
    if (o->wildcard || !is_string(o))
      continue;
    char **at = (char **)((char *)values + o->offset);
    gi_free(*at);
    *at = NULL;
  }
}

/* ---- for people ---- */

static const char *
words_text(const struct gi_option *opt, char *buf, size_t len)
{
  size_t at = (size_t)snprintf(buf, len, "one of ");
  for (unsigned i = 0; opt->words && opt->words[i] && at < len; i++)
    at += (size_t)snprintf(buf + at, len - at, "%s%s", i ? "|" : "", opt->words[i]);
  return buf;
}

const char *
gi_option_type_text(const struct gi_option *opt, char *buf, size_t len)
{
  static const char *const text[] = {
      [GI_OPT_BOOL] = "boolean",
      [GI_OPT_INT] = "integer",
      [GI_OPT_SIZE] = "size in bytes (KB MB GB TB PB)",
      [GI_OPT_PERCENT] = "percentage",
      [GI_OPT_PERCENT_OR_SIZE] = "percentage or size in bytes (% KB MB GB TB PB)",
      [GI_OPT_TIME] = "time in seconds (s min hr days wk)",
      [GI_OPT_DOUBLE] = "number",
      [GI_OPT_STR] = "text",
      [GI_OPT_PATH] = "absolute path",
      [GI_OPT_ADDRESS_LIST] = "list of addresses, comma separated",
  };
  if (opt->words)
    return words_text(opt, buf, len);
  GI_ASSERT((size_t)opt->type < GI_ARRAY_LEN(text) && text[opt->type]);
  snprintf(buf, len, "%s", text[opt->type]);
  return buf;
}

static void
doc_range(const struct gi_option *opt, FILE *out)
{
  if (opt->type == GI_OPT_PERCENT || (opt->min == 0 && opt->max == 0))
    return;
  if (opt->max <= opt->min || isinf(opt->max))
    fprintf(out, "- Range: %.0f or more\n", opt->min);
  else
    fprintf(out, "- Range: %.0f to %.0f\n", opt->min, opt->max);
}

void
gi_option_doc(const struct gi_option *opt, FILE *out)
{
  char type[512];
  fprintf(out, "### %s\n\n%s\n\n", opt->name, opt->text ? opt->text : "");
  if (opt->key)
    fprintf(out, "- Volume option: `%s`\n", opt->key);
  if (opt->alias)
    fprintf(out, "- Also accepted as: `%s`\n", opt->alias);
  fprintf(out, "- Type: %s\n", gi_option_type_text(opt, type, sizeof(type)));
  if (opt->def)
    fprintf(out, "- Default: `%s`\n", opt->def);
  else
    fprintf(out, "- Default: none\n");
  doc_range(opt, out);
  fprintf(out, "- Applied: %s\n",
          opt->unread ? "not in this version"
          : opt->live ? "live, to a running graph"
                      : "when the process starts");
  if (opt->op_version)
    fprintf(out, "- Needs cluster.op-version: %u\n", opt->op_version);
  if (opt->since)
    fprintf(out, "- Since: %s\n", opt->since);
  fputc('\n', out);
}
