/* SPDX-License-Identifier: Apache-2.0
 *
 * Static probes for bpftrace and perf, of the provider "glusterish". A probe is
 * a note in the ELF file that says where it is and in which registers or places
 * of memory its arguments lie, and one nop in the code: give what is there
 * anyway. extras/bpftrace has programs that use them.
 *
 *   enter(layer name, kind, operation)              a layer is given an operation
 *   leave(layer name, kind, operation, result)      a layer that answers it, or asked to see its reply, passes the reply up
 *   call_send(peer, program, procedure, xid, bytes)       a client sends a call,
 *   reply_receive(peer, program, procedure, xid, bytes)   has the reply
 *   call_receive(server, program, procedure, xid, bytes)  a server gets a call,
 *   reply_send(server, program, procedure, xid, bytes)    answers it
 *
 * A name is a string, `kind` a number of wire.md, `operation` a pointer that is the operation's own while it lives; the same
 * operation is another one in each brick. Bytes are those of the message.
 */
#ifndef GI_USDT_H
#define GI_USDT_H

#if !defined(GI_NO_USDT) && __has_include(<sys/sdt.h>)
#include <sys/sdt.h>
#define GI_USDT3(name, a, b, c) DTRACE_PROBE3(glusterish, name, a, b, c)
#define GI_USDT4(name, a, b, c, d) DTRACE_PROBE4(glusterish, name, a, b, c, d)
#define GI_USDT5(name, a, b, c, d, e) DTRACE_PROBE5(glusterish, name, a, b, c, d, e)
#else
#define GI_USDT3(name, a, b, c) ((void)0)
#define GI_USDT4(name, a, b, c, d) ((void)0)
#define GI_USDT5(name, a, b, c, d, e) ((void)0)
#endif

#endif
