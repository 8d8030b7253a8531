/* SPDX-License-Identifier: Apache-2.0
 *
 * The table of what our clients and bricks say to each other beyond the
 * protocol.
 */
#include "libglusterish/extension.h"

#include "libglusterish/mem.h"

#include <string.h>

const struct gi_extension gi_extensions[] = {
    {GI_PING_CAPABILITY,
     {NULL},
     "GF-DUMP PING",
     "client",
     "0.1",
     "The brick answers pings on its reactor, so silence of a few seconds means trouble."},
    {GI_LOAD_CAPABILITY,
     {GI_LOAD_KEY},
     "xdata of answers to a healer",
     "brick",
     "0.1",
     "How the operations of applications do while the heal runs: four big-endian 32-bit numbers (load.h)."},
    {GI_PREAMBLE_CAPABILITY,
     {GI_PREAMBLE_KEY},
     "xdata of an operation, and of its answer",
     "client",
     "0.1",
     "Locks to be tried and counters to be added before the operation; in the answer, what came of them (preamble.h)."},
    {GI_REGIONS_CAPABILITY,
     {GI_REGIONS_KEY},
     "xdata of XATTROP; virtual attribute of a file",
     "client",
     "0.1",
     "The ranges that an absent copy has missed, which the brick keeps beside the counters that blame it (regions.h)."},
    {GI_NEAR_CAPABILITY,
     {GI_NEAR_KEY, GI_NEAR_PIECES_KEY},
     "virtual attribute of a file; xdata of COPY_FILE_RANGE",
     "healer",
     "0.1",
     "Where a brick is, and which pieces of a file another brick on the same machine shall copy by itself (near.h)."},
    {GI_GROUPS_CAPABILITY,
     {GI_GROUPS_KEY},
     "xdata of any operation",
     "client",
     "0.1",
     "The supplementary groups that the credential has no room for, 32 bits big-endian each."},
    {GI_GIVE_BACK_CAPABILITY,
     {GI_GIVE_BACK_KEY},
     "xdata of any operation, and of RELEASE",
     "client",
     "0.1",
     "Locks of transactions, and descriptors, that the client gives back; it is done before the operation, whatever comes of "
     "that (give-back.h). An IPC carries none: a brick may wait for what it says."},
    {GI_GIVE_COUNTERS_CAPABILITY,
     {NULL},
     "xdata of any operation, and of RELEASE",
     "client",
     "0.1",
     "Among what a client gives back are counters that it lowers. They are lowered before locks are given back."},
    {GI_TRUNCATE_CAPABILITY,
     {GI_TRUNCATE_KEY, GI_TRUNCATE_FOUND_KEY},
     "xdata of OPEN, and of its answer",
     "client",
     "0.1",
     "An FTRUNCATE to nothing follows the open, and the answer is that of both. In the answer: the attributes after it, and "
     "those from before."},
    {GI_NOREPLACE_CAPABILITY, {GI_NOREPLACE_KEY}, "xdata of RENAME", "client", "0.1", "EEXIST if anything has the new name."},
    {NULL, {GI_VERSION_KEY}, "SETVOLUME and its answer", "client, brick", "0.1", "The version; who sends it is one of ours."},
    {NULL, {GI_CAPABILITIES_KEY}, "answer to SETVOLUME", "brick", "0.1", "The capabilities of the brick, separated by blanks."},
    {NULL,
     {"HOST:PATH"},
     "PORTBYBRICK",
     "client",
     "0.1",
     "The brick PATH of HOST, asked of the daemon of another node; alone, PATH is a brick of the daemon that is asked. The "
     "answer "
     "is what the daemon of the brick's node told that one last."},
    {NULL,
     {GI_PROMISE_KEY},
     "answer to SETVOLUME; CACHE_INVALIDATION of no object, when it changes",
     "brick",
     "0.1",
     "For so many seconds after its operation on an object a client is told what others do to it; 0: it is not."},
    {NULL,
     {GI_STRICT_KEY},
     "beside `glusterish-promise`",
     "brick",
     "0.1",
     "1: a change is answered when the clients that were told of it have answered `glusterish.taken`, or a third of those "
     "seconds "
     "later."},
    {NULL, {GI_ACKNOWLEDGES_KEY}, "SETVOLUME", "client", "0.1", "The client answers `glusterish.taken`."},
    {NULL,
     {GI_CLIENT_KEY_KEY, GI_CLIENT_PROOF_KEY},
     "SETVOLUME, and xdata of GETSPEC",
     "client",
     "0.1",
     "The public key of the client, and that it has the private one: a signature of the challenge (client-key.h)."},
    {NULL,
     {GI_CHALLENGE_KEY},
     "answers to SETVOLUME and GETSPEC, which are refused",
     "brick, glusterishd",
     "0.1",
     "What a client that has a key is to sign before it asks again on this connection."},
    {NULL,
     {GI_NAME_KEY, GI_NAME2_KEY},
     "CACHE_INVALIDATION",
     "brick",
     "0.1",
     "The names that were made, removed or replaced in the directory that it is about; of another object, what was made or "
     "removed in "
     "`parent`, or moved from the first name in `oldparent` to the second in `parent`."},
    {NULL,
     {GI_TAKEN_KEY},
     "CACHE_INVALIDATION; xdata of IPC to upcall",
     "brick; client",
     "0.1",
     "A number; the client sends it back when nothing of it keeps what was before the change, nor its kernel."},
    {NULL,
     {GI_EXPECTED_KEY},
     "xdata of UNLINK, RMDIR and RENAME",
     "client",
     "0.1",
     "The gfid of the object that is meant (none: it has none); ESTALE if the name leads to another."},
    {NULL,
     {GI_PARENT_XATTR_KEY},
     "xdata of SYMLINK and LINK",
     "client",
     "0.1",
     "An extended attribute of the directory, its name, a zero byte and its value, as `glusterfs.preop.parent.key` is for "
     "CREATE: "
     "if it is another one nothing is made, and the answer says `glusterfs.preop.check.failed`."},
    {NULL,
     {GI_SAME_FILE_KEY},
     "xdata of the answer to RENAME",
     "brick",
     "0.1",
     "Both names were one file, so nothing was done (POSIX), and the old name is still there."},
    {NULL,
     {GI_NAMED_KEY},
     "xdata of OPEN",
     "client",
     "0.1",
     "The caller has come to the file by a name; ESTALE if it has none any more and is only kept for those who have it open."},
    {NULL,
     {GI_CONTENT_KEY, GI_CONTENT_STAT_KEY},
     "xdata of OPEN and of LOOKUP by name, and of its answer",
     "client",
     "0.1",
     "The content is wanted if it has no more bytes than this number (0: only attributes are), unless the attributes are still "
     "those given. In the answer: the attributes, and the content. In the answer to LOOKUP they are there only if the caller "
     "may "
     "open the file to read it."},
    {NULL,
     {GI_SYNC_KEY},
     "xdata of WRITE, and of its answer",
     "client",
     "0.1",
     "An FSYNC of the file (1: of data alone, 2: a whole one) follows the write, and the answer is that of both. In the "
     "answer: "
     "1 if it was done, 2 if it failed."},
    {NULL,
     {GI_TWIN_KEY},
     "xdata of LOOKUP by name, and of its answer",
     "healer",
     "0.1",
     "In the answer: the object shares its gfid with another one of the brick, which is the one that the gfid leads to."},
    {NULL,
     {GI_DURABLE_KEY},
     "xdata of XATTROP, SETXATTR, FSETXATTR, REMOVEXATTR, FREMOVEXATTR, SETATTR, FSETATTR and RENAME",
     "healer, client, rebalance",
     "0.1",
     "The attributes, or the new name, and whatever was done to the object before, are on the disk when it succeeds."},
    {NULL,
     {GI_SUM_KEY},
     "xdata of XATTROP and FXATTROP that add 64-bit numbers to one attribute",
     "client",
     "0.1",
     "What the first number is to be. A brick that had another than the client knew makes it this one; if something is added "
     "it stays larger where it is."},
    {NULL,
     {GI_MOST_KEY},
     "xdata of STAT and FSTAT",
     "client",
     "0.1",
     "cluster/replicate asks all good copies, and tells what most of them say; bricks ignore it."},
    {NULL,
     {GI_LOCK_AGAIN_KEY},
     "xdata of LK, and of its answer",
     "client",
     "0.1",
     "A lock that this process had before its connection ended. In the answer: and nobody else had it meanwhile."},
    {NULL,
     {GI_TRACE_KEY, GI_TRACE_STEPS_KEY},
     "xdata of any operation; xdata of its answer",
     "client",
     "0.1",
     "Somebody looks at this operation: its name, as a W3C trace context (traceparent). In the answer, what the brick did for "
     "it, step "
     "by step (tree-wire.c)."},
    {NULL,
     {GI_MOVED_KEY},
     "xdata of SETATTR",
     "rebalance",
     "0.1",
     "1: the file has moved to another brick. EBUSY if somebody has a POSIX lock of it, EAGAIN if its mode no longer says that "
     "it is on the move; if not, none is granted any more, and no client gives it another mode (ESTALE). 0: it has not."},
    {NULL,
     {GI_MOVING_KEY},
     "xdata of UNLINK",
     "client",
     "0.1",
     "The client has seen to it that the file has not arrived elsewhere. Without this ESTALE, if the file is on the move and "
     "the request names the gfid it means."},
    {NULL,
     {GI_LEFT_KEY},
     "xdata of OPENDIR, READDIR and READDIRP, and of the answers",
     "client",
     "0.1",
     "In the answer: for so many nanoseconds no name has left the directory, for certain. An answer to OPENDIR that says so "
     "has "
     "the extended attributes that were asked for, too."},
    {NULL, {GI_LOCK_SPACE_KEY}, "xdata of LK", "client", "0.1", "Which kind of lock it is, enum gi_lock_space (fop.h)."},
    {NULL,
     {GI_GFID_KEY},
     "virtual attribute of the root",
     "client",
     "0.1",
     "Behind the colon stand the first 8 bytes of a gfid as text, 18 characters; the value is the gfid of an object of the "
     "brick that "
     "begins so, as text. A brick that has none has no such attribute."},
    {NULL,
     {GI_MOUNTS_KEY, GI_OTHER_MOUNTS_KEY},
     "virtual attribute of the root, and dict of the answer",
     "rebalance; brick",
     "0.1",
     "Processes that have the brick mounted: of each a big-endian 64-bit number, which is the same on all bricks. And how many "
     "of them are "
     "not ours."},
    {NULL,
     {GI_UNDER_WAY_KEY},
     "virtual attribute of the root, and xdata of the question for it",
     "client",
     "0.1",
     "What the brick does at this moment for operations of the client: in the question, of each the number of its call and its "
     "procedure, 32 bits big-endian each; the value has of those that are under way the number and, as an opaque, the steps "
     "(tree-wire.c)."},
    {NULL, {NULL}, NULL, NULL, NULL, NULL},
};

char *
gi_extension_capabilities(void)
{
  char *words = gi_strdup("");
  for (const struct gi_extension *e = gi_extensions; e->text && e->capability; e++) {
    char *longer = gi_asprintf("%s%s%s", words, *words ? " " : "", e->capability);
    gi_free(words);
    words = longer;
  }
  return words;
}

static void
write_word(const char *word, const char *before, FILE *out)
{
  if (word)
    fprintf(out, "%s`%s`", before, word);
}

void
gi_extension_doc(FILE *out)
{
  fprintf(out,
          "# Extensions of the protocol\n\n"
          "Made of the table in `libglusterish/extension.c` by `make extensions-doc`; do not edit.\n\n"
          "Our clients and bricks say this to each other beyond the protocol of GlusterFS. A brick sends its capabilities in\n"
          "the answer to SETVOLUME; what has one is only sent to a brick that has it. A peer that does not know a key ignores "
          "it.\n\n"
          "| capability | keys | where | who sends it | since | what it says |\n"
          "|---|---|---|---|---|---|\n");
  for (const struct gi_extension *e = gi_extensions; e->text; e++) {
    fprintf(out, "|");
    write_word(e->capability, " ", out);
    fprintf(out, " |");
    write_word(e->keys[0], " ", out);
    write_word(e->keys[1], ", ", out);
    fprintf(out, " | %s | %s | %s | %s |\n", e->where, e->sender, e->since, e->text);
  }
}
