/* SPDX-License-Identifier: Apache-2.0
 *
 * Text of any origin for JSON.
 */
#ifndef COMMON_JSON_TEXT_H
#define COMMON_JSON_TEXT_H

#include <jansson.h>

/* Any bytes as a JSON string: what is no UTF-8 becomes '?'. NULL: null. */
json_t *ob_text(const char *text);

#endif
