"""Whether the encyclopedias of the settings can be read."""

from firmware_app.doctor import Area, Check, Finding, passed
from firmware_app.doctor.context import Context
from firmware_app.skills.encyclopedia import Library


def run(context: Context) -> Finding:
    return judge(context.settings.encyclopedia.files)


def judge(files: str) -> Finding:
    """Raises EngineError for the first that cannot be used."""
    titles = Library(files).check()
    if not titles:
        return passed("No encyclopedia is set up.")
    kind = "encyclopedia" if len(titles) == 1 else "encyclopedias"
    return passed(f"{len(titles)} {kind}: {', '.join(titles)}.")


CHECK = Check("encyclopedia", Area.ENGINES, "the encyclopedias of the settings", run)
