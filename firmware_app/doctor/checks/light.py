"""Whether the board's light can be reached; beside the running service, what that says of it."""

from firmware_app.device.drivers import open_light
from firmware_app.doctor import Area, Check, Finding, passed
from firmware_app.doctor.context import Context


def run(context: Context) -> Finding:
    light = context.board.light
    if light is None:
        return passed("This board has no light.")
    if told := context.told_of("light"):
        return told
    open_light(light).close()
    return passed("The light can be reached.")


CHECK = Check("light", Area.SOUND, "the light", run)
