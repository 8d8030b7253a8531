/* SPDX-License-Identifier: Apache-2.0
 *
 * Arguments and results of the FOP program, version 400 (wire.md 4), between
 * bytes and struct gi_fop. One table of field lists per kind drives encoding
 * and decoding in both directions; tests check it against the golden vectors.
 */
#ifndef GI_FOP_CODEC_H
#define GI_FOP_CODEC_H

#include "libglusterish/fop.h"
#include "rpc/xdr.h"

#define GI_FD_ANONYMOUS (-2ll)

/* What travels beside the gi_fop: handles are numbers on the wire. */
struct gi_wire_fds {
  int64_t fd, fd2;
};

/* Client side. WRITE's payload is not encoded: send fop->payload behind `out`. */
void gi_fop_encode_request(struct gi_xdr_out *out, const struct gi_fop *fop, const struct gi_wire_fds *fds);
/* `in` stands behind the RPC header. For READ the payload is the rest of the record: *payload_offset gets its offset from
 * in->p at entry; the caller slices it into fop->rsp.payload. Strings land in the fop's arena. False = malformed; fop->rsp is
 * then cleared and ret/err are -1/EINVAL. *wire_fd: OPEN/OPENDIR/CREATE handle. */
GI_MUST_CHECK bool gi_fop_decode_reply(struct gi_xdr_in *in, struct gi_fop *fop, int64_t *wire_fd, size_t *payload_offset);

/* Server side. Names, domains and links land in the fop's arena; loc.inode/parent and fd stay NULL (the resolver's job), gfids
 * are in loc/loc2. *payload_offset: WRITE/PUT. False = garbage arguments. Checks lengths: names longer than 1024 bytes, xattr
 * names longer than 64 KiB … are malformed. */
GI_MUST_CHECK bool gi_fop_decode_request(struct gi_xdr_in *in, struct gi_fop *fop, struct gi_wire_fds *fds,
                                         size_t *payload_offset);
void gi_fop_encode_reply(struct gi_xdr_out *out, const struct gi_fop *fop, int64_t wire_fd);

#endif
