"""Whether conversations are saved."""

from firmware_app.doctor import Area, Check, Finding, failed, passed
from firmware_app.doctor.context import Context
from firmware_app.events import Saved


def run(context: Context) -> Finding:
    if not context.vitals:
        return passed("Echo is not running.")
    match context.vitals["conversations"]:
        case Saved.NOT_SAVING:
            return failed(
                f"What is said is not saved ({context.vitals['history']}).",
                "hey-echo doctor disk-space read-only permissions databases",
            )
        case Saved.SAVED:
            return passed("Conversations are saved.")
    return passed("Conversations are not saved: it is turned off.")


CHECK = Check("saving", Area.SERVICE, "whether conversations are saved", run)
