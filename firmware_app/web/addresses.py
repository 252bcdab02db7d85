"""Where the page is reached, and from where it may be."""

import ipaddress
import re
import socket
from pathlib import Path
from typing import TypeAlias

from firmware_app.settings import Settings, WebSettings

Address: TypeAlias = ipaddress.IPv4Address | ipaddress.IPv6Address

# Private use (RFC 1918, RFC 4193), link-local (RFC 3927, RFC 4291), loopback, and addresses shared
# by the machines of an overlay network or a provider (RFC 6598).
HOME = [
    ipaddress.ip_network(network)
    for network in (
        "127.0.0.0/8",
        "10.0.0.0/8",
        "172.16.0.0/12",
        "192.168.0.0/16",
        "169.254.0.0/16",
        "100.64.0.0/10",
        "::1/128",
        "fc00::/7",
        "fe80::/10",
    )
]
_AVAHI = Path("/run/avahi-daemon/socket")  # whoever answers for NAME.local
_LABEL = re.compile(r"[a-z0-9._-]{1,253}")


def address_of(text: str) -> Address | None:
    """An address without its zone; one of IPv4 within IPv6 as the former. None for a name."""
    try:
        found = ipaddress.ip_address(text.partition("%")[0])
    except ValueError:
        return None
    if isinstance(found, ipaddress.IPv6Address) and found.ipv4_mapped:
        return found.ipv4_mapped
    return found


def is_at_home(peer: Address, own: Address) -> bool:
    """Whether the peer is on the home network, as far as addresses tell.

    own: the box's address that the peer connected to. Homes with IPv6 have global addresses; a
    neighbour shares the first half of ours.
    """
    if any(peer in network for network in HOME if network.version == peer.version):
        return True
    return (
        isinstance(peer, ipaddress.IPv6Address)
        and isinstance(own, ipaddress.IPv6Address)
        and int(peer) >> 64 == int(own) >> 64
    )


def name_of_host(header: str) -> str | None:
    """The name or address in a Host header, without the port; None for what is none."""
    found = re.fullmatch(r"(?:\[([0-9a-f:.]+)\]|([a-z0-9._-]+))(?::[0-9]{1,5})?", header.lower())
    return (found[1] or found[2]) if found else None


def own_names(web: WebSettings) -> frozenset[str]:
    """The names by which browsers may call this box; its addresses come on top."""
    host = hostname()
    more = {name.strip().lower() for name in web.hosts.split(",")}
    return frozenset({"localhost", host, f"{host}.local", *more} - {""})


def hostname() -> str:
    """The first label of this box's name, in lower case."""
    name = socket.gethostname().partition(".")[0].lower()
    return name if _LABEL.fullmatch(name) else "localhost"


def lan_address() -> str | None:
    """The address of this box on the network its router is on. Nothing is sent."""
    for family, far in ((socket.AF_INET, "192.0.2.1"), (socket.AF_INET6, "2001:db8::1")):
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            try:
                probe.connect((far, 9))
                return str(probe.getsockname()[0])
            except OSError:
                continue
    return None


def page_address(settings: Settings, *, secure: bool, port: int | None = None) -> str | None:
    """The address to type into a browser; None where the page is off.

    A name where something answers for it on the network, else an address.
    """
    web = settings.web
    if not web.enabled:
        return None
    if address_of(web.address):
        host = web.address
    elif _AVAHI.exists():
        host = f"{hostname()}.local"
    else:
        host = lan_address() or "localhost"
    host = f"[{host}]" if ":" in host else host
    port = web.port if port is None else port
    scheme, usual = ("https", 443) if secure else ("http", 80)
    return f"{scheme}://{host}" + ("" if port == usual else f":{port}")
