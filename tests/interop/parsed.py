# SPDX-License-Identifier: Apache-2.0
"""What glustercli of PyPI reads out of a command line program: parsed.py PROGRAM SOCKET VOLUME. A line for each question: the members and
their types, values aside."""
import re
import sys

from glustercli.cli import peer, utils, volume

program, socket, name = sys.argv[1:]
utils.set_gluster_path(program)
utils.set_gluster_socket(socket)


def member(k):
    """Which kinds of operations and which sizes there were is a matter of the load."""
    return "SIZE" if re.fullmatch("[0-9]+[KMGTPE]?B", k) else "KIND" if k.isupper() else k


def shape(v):
    if isinstance(v, dict):
        return {member(k): shape(v[k]) for k in sorted(v, key=str)}
    if isinstance(v, list):
        return sorted({str(shape(e)) for e in v})
    return type(v).__name__


def told(what, fn, *args, **more):
    try:
        print(what, shape(fn(*args, **more)))
    except Exception as e:  # whatever it is, it goes wrong for both or for none
        print(what, "cannot be parsed:", type(e).__name__, str(e)[:200])


told("vollist", volume.vollist)
told("info", volume.info, name)
told("subvolumes", volume.info, name, group_subvols=True)
told("status", volume.status_detail, name)
told("profile", volume.profile_info, name, "cumulative")
told("pool", peer.pool)
told("peers", peer.status)
