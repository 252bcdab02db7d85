"""Whether the page is encrypted, and for how long still."""

import datetime

from firmware_app.doctor import Area, Check, Finding, passed, warned
from firmware_app.doctor.context import Context
from firmware_app.web import tls

DAYS_BEFORE = 30  # a certificate ends at which one is told


def run(context: Context) -> Finding:
    if not context.settings.web.enabled:
        return passed("The page is turned off.")
    files = tls.files(context.settings)
    if files is None:
        return passed(
            "The page is not encrypted: others on this network could listen in."
            " To prevent that: sudo hey-echo tls create"
        )
    now = datetime.datetime.fromtimestamp(context.now(), datetime.UTC)
    tls.context(files, now)
    ends = tls.look_at(files.certificate).ends
    if ends - now < datetime.timedelta(days=DAYS_BEFORE):
        return warned(
            f"The page's certificate ends on {ends:%Y-%m-%d}.",
            "sudo hey-echo tls create --replace, or renew the files named in web.certificate",
        )
    return passed(f"The page is encrypted; its certificate holds until {ends:%Y-%m-%d}.")


CHECK = Check("certificate", Area.SETTINGS, "whether the page is encrypted", run)
