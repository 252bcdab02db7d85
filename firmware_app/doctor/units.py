"""What systemd knows of the service."""

from firmware_app.doctor.context import Context

UNIT = "hey-echo"


def unit(context: Context) -> dict[str, str]:
    """Properties of the unit; empty where there is no systemd, or no such unit."""
    told = context.command(
        "systemctl",
        "show",
        UNIT,
        "--property=LoadState,ActiveState,SubState,Result,NRestarts,ExecMainStatus,StatusText",
    )
    facts = dict(line.partition("=")[::2] for line in (told or "").splitlines() if "=" in line)
    return facts if facts.get("LoadState") == "loaded" else {}
