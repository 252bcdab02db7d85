"""Who is at the other end of the socket, and whether they may be."""

import grp
import os
import pwd
import socket
import struct
from dataclasses import dataclass

from firmware_app.folders import GROUP

_CREDENTIALS = struct.Struct("3i")  # pid, uid, gid: unix(7), SO_PEERCRED


@dataclass(frozen=True, slots=True)
class Peer:
    pid: int
    uid: int
    gid: int


def peer_of(connection: socket.socket) -> Peer:
    """The process that connected, as the kernel knows it."""
    raw = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    return Peer(*_CREDENTIALS.unpack(raw))


def may_call(peer: Peer, group: str = GROUP) -> bool:
    """Root, the service's own user, and members of the group may call."""
    if peer.uid in (0, os.geteuid()):
        return True
    try:
        wanted = grp.getgrnam(group).gr_gid
        groups = os.getgrouplist(pwd.getpwuid(peer.uid).pw_name, peer.gid)
    except KeyError:  # no such group, or a user without a name
        return False
    return wanted in groups
