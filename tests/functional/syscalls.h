/* SPDX-License-Identifier: Apache-2.0
 *
 * What syscalls runs in two directories.
 */
#ifndef SYSCALLS_H
#define SYSCALLS_H

/* A line of steps separated by ';' each; the steps are those of syscalls.c. */
extern char **sequence;
extern int nsequence;

/* Fills in the list above; its order is the numbering of the tests. */
void add_sequences(void);

#endif
