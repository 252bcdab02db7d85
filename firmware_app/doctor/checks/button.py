"""Whether the board's button can be reached; beside the running service, what that says of it."""

from firmware_app.device.gpio import Contact
from firmware_app.doctor import Area, Check, Finding, passed
from firmware_app.doctor.context import Context


def run(context: Context) -> Finding:
    button = context.board.button
    if button is None:
        return passed("This board has no button.")
    if told := context.told_of("button"):
        return told
    Contact(button.pin, lambda pressed: None).close()
    return passed(f"The button on GPIO{button.pin} can be reached.")


CHECK = Check("button", Area.SOUND, "the button", run)
