/* SPDX-License-Identifier: Apache-2.0
 *
 * What must hold of a pool's management, whatever happens:
 *
 *   - whoever changes what is stored holds the lock then;
 *   - a change takes nothing back that another one has stored: it is one
 *     option, or one state, or a change of bricks;
 *   - a generation of a definition means the same wherever it is in force;
 *   - a change that was acknowledged is stored; one that was refused is not,
 *     then and later;
 *   - a node that leaves takes nothing along: what removes it and changes the
 *     secret changes the authority of TLS and the passwords of all volumes, too;
 *   - one process serves a brick (process.c).
 */
#ifndef SIM_RULES_H
#define SIM_RULES_H

#include "tests/simulation/management/nodes.h"

struct rules;

struct rules *rules_new(struct sim_nodes *all); /* lives as long as the run */
unsigned rules_token(struct rules *r);          /* the next change: of an option to the value tN */
void rules_answered(struct rules *r, unsigned token, int code, const char *text);
void rules_look(struct rules *r); /* at all nodes, now and then */

#endif
