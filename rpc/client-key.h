/* SPDX-License-Identifier: Apache-2.0
 *
 * Keys of clients (auth.client-key): a volume lists the public halves, each with
 * a name, and a client has the private one in a file. It proves that, without
 * showing it, to the daemon that is to give it the volfile and to every brick:
 * it signs a challenge that is good once, on one connection. In TLS the
 * signature is bound to the connection, too, and worth nothing on another one.
 *
 * Files are PEM, as `openssl genpkey -algorithm ed25519` makes them. In text a
 * public key has 64 hexadecimal digits; a list is "NAME:KEY,NAME:KEY".
 */
#ifndef GI_CLIENT_KEY_H
#define GI_CLIENT_KEY_H

#include "libglusterish/dict.h"
#include "libglusterish/error.h"
#include "rpc/conn.h"

#define GI_CLIENT_KEY_TEXT 65 /* bytes, with the end */
#define GI_CHALLENGE_TEXT 65  /* likewise */
#define GI_CLIENT_KEYS_MAX 1024

/* What the key is proved for. */
struct gi_key_claim {
  const struct gi_conn *conn;
  const char *what;   /* "volfile" or "brick" */
  const char *object; /* which one */
};

/* ---- files ---- */

/* The public half of the key in the file, which has both or, unless `private`, that one alone. A `private` one must belong to root or to the
 * process's user, and others may not read it: EPERM. -1 and err. */
GI_MUST_CHECK int gi_client_key_read(const char *file, bool private, char text[GI_CLIENT_KEY_TEXT], struct gi_error *err);
/* Makes a key and the file, which must not exist and which nobody else may read. -1 and err. */
GI_MUST_CHECK int gi_client_key_make(const char *file, char text[GI_CLIENT_KEY_TEXT], struct gi_error *err);

/* ---- the client ---- */

/* Puts the public key into `d` and, with a challenge, the proof. -1 and err: the file has no private key, or the connection is in a TLS that
 * nothing can be bound to; `d` is as it was. */
GI_MUST_CHECK int gi_client_key_show(const char *file, const struct gi_key_claim *claim, const char *challenge,
                                     struct gi_dict *d, struct gi_error *err);
/* The challenge in an answer; NULL: there is none. Borrowed from `d`. */
const char *gi_client_key_challenge(const struct gi_dict *d);

/* ---- the server ---- */

/* What is known of the other end of one connection; zeroed at first. */
struct gi_key_door {
  char challenge[GI_CHALLENGE_TEXT]; /* it was told; empty: none that is still good */
  char proved[GI_CLIENT_KEY_TEXT];   /* the key that it has; empty: none */
};

enum gi_key_verdict {
  GI_KEY_GOOD,     /* it has a key of the list */
  GI_KEY_NONE,     /* it shows no key */
  GI_KEY_UNKNOWN,  /* one that the list does not have */
  GI_KEY_UNPROVED, /* one of the list, and it is to prove that it has it */
  GI_KEY_WRONG,    /* one of the list, which it does not have */
};

/* Takes what a client shows in `d` (may be NULL). A proof uses the challenge up, whatever comes of it. `list` may be NULL. */
enum gi_key_verdict gi_client_key_take(struct gi_key_door *k, const char *list, const struct gi_dict *d,
                                       const struct gi_key_claim *claim);
/* Puts a challenge into an answer. */
void gi_client_key_ask(struct gi_key_door *k, struct gi_reactor *r, struct gi_dict *d);
/* A sentence for people; NULL of GI_KEY_GOOD. */
const char *gi_client_key_refusal(enum gi_key_verdict v);

/* ---- lists ---- */

/* May it be the name of a key: letters, digits, "-", "_", ".", at most 64? */
bool gi_client_key_name_ok(const char *name);
/* The name of the key in the list; the caller frees it. NULL: it is not there. `list` and `key` may be NULL. */
char *gi_client_keys_name(const char *list, const char *key);
/* -1 and err: it is no list. */
GI_MUST_CHECK int gi_client_keys_check(const char *list, struct gi_error *err);
/* Calls fn with each. */
void gi_client_keys_each(const char *list, void (*fn)(const char *name, const char *key, void *arg), void *arg);
/* The list with one more, or without the one of that name; the caller frees it, it may be empty. NULL and err: the name or the key is there already,
 * is none, or is not there. `list` may be NULL. */
char *gi_client_keys_with(const char *list, const char *name, const char *key, struct gi_error *err);
char *gi_client_keys_without(const char *list, const char *name, struct gi_error *err);

#endif
