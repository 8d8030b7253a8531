/* SPDX-License-Identifier: Apache-2.0
 *
 * Which process tells of an operation.
 */
#ifndef OBSERVE_SELF_H
#define OBSERVE_SELF_H

struct ob_self {
  const char *role, *volume, *host, *brick; /* volume and brick may be NULL */
  int pid;
};

#endif
