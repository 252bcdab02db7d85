"""Which microphone board there is, and what it fills in."""

from firmware_app.audio.alsa import MixerControl
from firmware_app.device.board import AUTO, NONE, Board
from firmware_app.doctor import Area, Check, Finding, failed, passed, warned
from firmware_app.doctor.context import Context


def run(context: Context) -> Finding:
    named, board = context.settings.device.board, context.board
    hat = context.read("/proc/device-tree/hat/product").strip("\0 ")
    if board.card:
        return _levels(board) or passed(_of(board))
    if board.name != NONE:
        overlay = f" with the line {board.overlay} in /boot/firmware/config.txt" * bool(
            board.overlay
        )
        return failed(
            f"The board {named} ({board.title}) is not there: the kernel has no such sound card.",
            f"Plug it in{overlay}, and restart; or: hey-echo config unset device.board",
        )
    if hat and named == AUTO:
        return warned(
            f"The HAT “{hat}” is on the pins, and its sound card is not there.",
            "Enable its overlay as docs/hardware tells, and restart.",
        )
    return passed("No board that Echo knows: ALSA's default devices, no light, no button.")


def _levels(board: Board) -> Finding | None:
    """Those that Echo sets at its start, where the card has none of the name."""
    missing = []
    for name in board.mixer:
        try:
            MixerControl(board.card, name)
        except OSError:
            missing.append(name)
    if not missing:
        return None
    return warned(
        f"{_of(board)} The card has no level {', '.join(missing)}, which Echo sets at its start.",
        f"See which it has: amixer -c {board.card} scontrols; then set them by hand with: "
        f"alsamixer -c {board.card}",
    )


def _of(board: Board) -> str:
    parts = [f"{board.title}: sound card {board.card}"]
    if board.loudspeaker_card != board.card:
        parts.append(f"loudspeaker {board.loudspeaker_card or 'the default'}")
    if board.light:
        parts.append(f"{board.light.leds} {'LED' if board.light.leds == 1 else 'LEDs'}")
    if board.button:
        parts.append(f"button on GPIO{board.button.pin}")
    return ", ".join(parts) + "."


CHECK = Check("board", Area.SOUND, "the microphone board", run)
