/* SPDX-License-Identifier: Apache-2.0
 *
 * Simulated processes of simulated nodes: what stands in for
 * programs/glusterishd/proc/spawn.c. Bricks and daemons outlive the daemon that
 * started them, write the pid file they are told to, and end on signals.
 */
#ifndef SIM_MANAGEMENT_PROCESS_H
#define SIM_MANAGEMENT_PROCESS_H

#include "tests/simulation/world/reactor.h"

#include <sys/types.h>

void sim_processes_new(struct sim_world *w); /* one world at a time */
void sim_processes_free(void);
void sim_processes_forget(struct sim_reactor *r); /* whoever watched there has crashed */
void sim_processes_kill(unsigned host);           /* all of a host: it lost power */
/* The living one of the host that has `word` on its command line; 0: there is none. */
pid_t sim_process_with(unsigned host, const char *word);
/* Calls fn for each living process of a host that serves and was given the option, with its value. */
void sim_processes_foreach(unsigned host, const char *option, void (*fn)(void *arg, pid_t pid, const char *value), void *arg);

#endif
