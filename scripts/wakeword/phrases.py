# ruff: noqa: RUF001 - phonemes are written in IPA
"""What is said: the phrase in its pronunciations, phrases near it, and other speech.

Only the phrase itself wakes. A greeting before the name alone ("okay echo", "hello echo") does
not, nor does the name without its greeting: a wake word that yields to its neighbours wakes by
itself.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass, field

from wakeword.kokoro import phonemes

DEFAULT = "hey echo"

ENDINGS = ("", ".", "!", "?", ",", "…")

# Said after the phrase in one breath, or as speech of its own.
VERBS = ("turn on", "turn off", "dim", "open", "close", "lock", "check", "find", "show me", "start")
ROOMS = ("kitchen", "living room", "bedroom", "hall", "garage", "bathroom", "garden", "office")
THINGS = ("light", "lights", "fan", "heater", "blinds", "door", "music", "radio", "lamp", "alarm")
REQUESTS = (
    "what time is it",
    "what's the weather like tomorrow",
    "set a timer for ten minutes",
    "stop",
    "pause the music",
    "how are you today",
    "tell me a joke",
    "wake me up at seven in the morning",
    "who wrote Hamlet",
    "what is seven times eight",
    "add milk to the shopping list",
    "volume up",
    "play something quiet",
    "remind me to call my mother",
    "is it going to rain",
    "cancel that",
    "how far away is the moon",
    "good morning",
    "are you there",
    "I need some help",
    "can you hear me",
    "let's cook dinner",
    "next song please",
    "never mind",
    "read me the news",
)

# Speech that has nothing to do with the phrase; some of it shares its sounds.
SENTENCES = (
    "The train to the coast was late again, so we ate our sandwiches on the platform.",
    "She painted the fence green and then decided that blue would have been better.",
    "There was an echo in the valley that came back three times before it faded.",
    "Okay, hello everyone, thank you for coming out on such a cold evening.",
    "The doctor said he ought to walk for an hour each day, whatever the weather.",
    "Ecuador and Colombia share a border that runs from the mountains to the sea.",
    "He tasted the soup, shook his head, and reached for the salt once more.",
    "Our neighbours have a gecko in a glass tank and a very noisy parrot.",
    "If you add the eggs too early the whole thing turns into a kind of omelette.",
    "They say the old clock in the tower has not kept time since the war.",
    "A heavy lorry went past, and all the plates on the shelf began to rattle.",
    "Hey, wait for me, I have left my coat and both of my keys upstairs.",
    "The committee agreed to meet again in April, unless the budget is settled first.",
    "In the second half they scored twice, and the crowd went completely silent.",
    "You can hear the echo of that idea in almost everything he wrote afterwards.",
    "Take the second street on the left, and the bakery is just past the school.",
    "Eckhart closed the book slowly and looked out at the rain on the river.",
    "The economy grew by less than one per cent in the first quarter of the year.",
    "Hey Eddie, could you hand me that ladder before somebody trips over it?",
    "We saw two foxes and an owl on the way home, and nothing else at all.",
    "Her grandmother kept every letter in a tin box under the stairs.",
    "It takes about forty minutes by bicycle, and rather longer if there is wind.",
    "Nobody expected the quiet boy at the back to win the spelling prize.",
    "The hotel was built in the art deco style and had a garden on the roof.",
    "Please leave your shoes by the door, because the floor has just been cleaned.",
    "They echo each other so often that I can no longer tell them apart.",
    "Sunday was hot and still, and the lake looked like a sheet of metal.",
    "Hey Alexa, play the news. No, not that station, the other one.",
    "My uncle repairs radios, watches and, when nobody else will do it, lawn mowers.",
    "A decade ago this whole street was nothing but warehouses and empty lots.",
    "The recipe calls for two cups of flour, a pinch of salt and some patience.",
    "Let go of the rope when I tell you, and not one second before.",
    "He plays the cello beautifully but refuses to do it when anyone is listening.",
    "The echo chamber was full of sound, and the engineers were full of coffee.",
    "Every morning the same heron stands in the same shallow part of the stream.",
    "Say hello to your sister for me, and tell her the parcel has arrived.",
    "Hey, ecology is not the same thing as economics, whatever the poster says.",
    "The museum is free on Thursdays, although the gift shop certainly is not.",
    "We stayed at home, cooked a great deal of pasta and watched old films.",
    "There are eleven players on each side, and one referee who sees everything.",
)


def _listed(text: str) -> tuple[str, ...]:
    return tuple(text.split(","))


@dataclass(frozen=True, slots=True)
class Near:
    """Phrases that sound like the wake word and are not: for training, and never heard in it.

    further: for training, and judged by none.
    """

    seen: tuple[str, ...]
    unseen_dev: tuple[str, ...]
    unseen_test: tuple[str, ...]
    further: tuple[str, ...] = ()


NEAR_HEY_ECHO = Near(
    seen=_listed(
        "they echo,okay echo,hello echo,hi echo,day echo,say echo,may echo,the echo,an echo,"
        "my echo,stay echo,gray echo,lay echo,play echo,hail echo,way echo,pay echo,ray echo,"
        "bay echo,jay echo,kay echo,clay echo,tray echo,sway echo,nay echo,slay echo,"
        "spray echo,pray echo,delay echo,display echo,replay echo,me echo,we echo,he echo,"
        "she echo,tea echo,high echo,bye echo,go echo,no echo,so echo,yo echo,her echo,"
        "hear echo,heard echo,hate echo,hold echo,had echo,has echo,head echo,ace echo,"
        "age echo,eight echo,they'd echo,this echo,that echo,their echo,cave echo,loud echo,"
        "dear echo,one echo,our echo,your echo,hey eckhart,hey ecuador,hey deco,hey gecko,"
        "hey eggo,hey alexa,hey ego,hey elmo,hey eddie,hey emma,hey ella,hey edgar,hey eric,"
        "hey ethan,hey evan,hey enzo,hey ellen,hey emily,hey everyone,hey everybody,hey ed,"
        "hey jethro,hey expo,hey taco,hey psycho,hey disco,hey marco,hey rocco,hey pedro,"
        "hey leo,hey theo,hey hector,hey acorn,hey exit,hey extra,hey elbow,hey arrow,"
        "hey mango,hey cocoa,hey nico,hey coco,hey becca,hey rebecca,hey decker,hey jackal,"
        "hey google,hey siri,hey jarvis,hey computer,hey there,hey you,hey ankle,hey attica,"
        "hey echidna,hey okay,hey zeko,hey beckham,hey mexico,hey nemo,hey election,"
        "hey echelon,hey elephant,hey engine,hey edna,hey essay,hey any,hey end,hey eight,"
        "hey egg,hey eckle,hey ankara,hey oko,hey eco,hey equity,hey equal,hey eager,"
        "hey ecology,hey economy,hey ecstasy,hey eczema,hey exile,hey expert,hey eclipse,"
        "hey electric,hey elegant,hey element,hey eleven,hey elvis,hey elton,hey eloise,"
        "hey ember,hey emo,hey emil,hey emmett,hey empty,hey enemy,hey energy,hey english,"
        "hey enter,hey envoy,hey epic,hey error,hey errol,hey erin,hey escape,hey eskimo,"
        "hey espresso,hey estelle,hey etch,hey ever,hey every,hey eva,hey eggnog,hey excellent,"
        "hey except,hey exercise,hey exhale,hey exotic,hey expect,hey deck,hey neck,hey beck,"
        "hey tech,hey heck,hey peck,hey check,hey peckham,hey beckett,hey becky,hey pico,"
        "hey tico,hey rico,hey franco,hey bingo,hey django,hey tango,hey bongo,hey hugo,"
        "hey diego,hey logo,hey yoko,hey waco,hey nacho,hey poncho,hey mecca,hey trekker,"
        "hey checker,hey wacko,hey gonzo,hey gizmo,hey jello,hey cello,hey hello,hey mellow,"
        "hey meadow,hey shadow,hey pepper,hey petrol,hey heckle,hey jocko,hey gringotts,"
        "hey dakota,hey joker,hey poker,hey locker,hey soccer,hey rocket,hey pocket,hey bucket,"
        "hey breakout,hey takeout,hey lookout,hey deckhand,hey decorate,hey decade,hey declan,"
        "hey record,hey second,hey peccary,hey pecan,hey pickle,hey buckle,hey circle,"
        "hey uncle,hey michael,hey nickel,hey a cow,hey let go,hey that goes,hey tech crew,"
        "hey get going,hey get to go,hey heck no,hey next one,hey wreck it,hey et cetera,"
        "hey at cost,hey add cocoa,hey eat cake,hey egg roll,hey ed cole,hey eck hard,"
        "hey ek art,hey it goes,hey I go,hey we go,hey oh,hey oh no,hey go,hey go on,hey cow,"
        "hey coat,hey kay,hey k o,hey ee co,hey ah co,hey ook oh,hey ick oh,hey uck oh,they go,"
        "they know,they owe,they echo it,may go,say hello,say go,a deco,the gecko,my ego,"
        "they equal,they expect,they enter,he echoed,whey deco,echo mode,echo,hey,heckle,"
        "art deco,eckhart,ecuador,gecko,eggo,okay,ego,deco,echoes,an echo chamber,"
        "the echo faded"
    ),
    unseen_dev=_listed(
        "hey eccles,hey edward,hey metro,hey ghetto,hey techno,hey ergo,halo echo,hey elsa,"
        "hey ernest,hey lecker,hey arco,hey esther,hey wreck oh,obey echo,hey ketchup,"
        "hey medico,hey etna,hey elko,hey tempo,hey retro,away echo,today echo,hey lego,"
        "hey fellow,hey yellow,hey velcro,hey gringo,hey eclair,hey ecru"
    ),
    unseen_test=_listed(
        "hey effort,hey etching,hey ecosystem,hey demo,hey necco,hey fresco,hey zorro,"
        "hey benco,hey jericho,hey tobacco,hey otto,hey apple,hey hemlock,hey epoch,"
        "hey reckon so,hey ebony,hey ecto,hey pesto,relay echo,holiday echo,they ate cocoa,"
        "hey pekoe,whey echo,birthday echo,hey eggcup,hey emperor,hey ethics,hey gateau"
    ),
    further=_listed(
        "hey acapella,hey acoustic,hey akimbo,hey amigo,hey alto,hey auto,hey arnold,"
        "hey archie,hey annie,hey anna,hey eve,hey evie,hey essie,hey esme,hey eden,hey edith,"
        "hey edwin,hey effie,hey egon,hey elena,hey eleanor,hey eli,hey eliza,hey elijah,"
        "hey elliot,hey ellis,hey erica,hey ernie,hey etta,hey eugene,hey eunice,hey evelyn,"
        "hey ezra,hey jacko,hey kiko,hey chico,hey paco,hey taco bell,hey loco,hey polo,"
        "hey solo,hey pronto,hey presto,hey bravo,hey fresno,hey milo,hey arlo,hey marlo,"
        "hey waldo,hey aldo,hey frodo,hey bilbo,hey cargo,hey dingo,hey flamingo,hey tuxedo,"
        "hey video,hey radio,hey studio,hey patio,hey cheerio,hey oreo,hey romeo,hey cameo,"
        "hey rodeo,hey stereo,hey piano,hey volcano,hey casino,hey domino,hey photo,hey motto,"
        "hey lotto,hey etiquette,hey acne,hey actor,hey action,hey access,hey accent,"
        "hey accident,hey accordion,hey eccentric,hey esco,hey a coat,hey every co,"
        "hey air coat,hey take care,hey get cozy,hey they're cold,hey when can,hey pet goat,"
        "hey red coat,hey get coal,hey wet coat,hey bed cold,hey check out,hey check oh,"
        "hey heck of a,hey neck hold,hey deck hole,hey record this,hey legacy,hey stencil,"
        "hey vehicle,hey medical,hey technical,hey spectacle,hey freckle,hey speckle,"
        "hey shekel,hey yokel,hey local,hey focal,hey vocal,hey smoker,hey broker,hey choker,"
        "hey croco,hey rococo,hey bronco,hey junco,hey banco,hey fiasco,hey tabasco,"
        "hey morocco,hey monaco,hey calico,hey portico,hey mexico city,hey puerto rico,"
        "hey tokyo,hey mikado,hey avocado,hey desperado,hey tornado,hey alfredo,hey torpedo,"
        "hey libido,hey speedo,hey credo,hey escudo,hey aikido,hey ethel,hey essex,hey exeter,"
        "hey ex,hey f,hey m,hey x,hey necklace,hey reckless,hey breakfast,hey wreckage,"
        "hey message,hey lecture,hey texture,hey vector,hey sector,hey nectar,hey spectre,"
        "hey bagel,hey eagle,hey legal,hey regal,hey igloo,hey iago,hey yoga,hey toga,hey saga,"
        "hey mega,hey omega,hey vega,hey vegan,hey pagan,hey reagan,hello there,hello ecuador,"
        "hello gecko,hi ego,hi eggo,hi deco,okay ego,okay deco,okay eckhart,okay go,"
        "okay google,okay let's go,hey what's up,hey come on,hey let's go,hey here we go,"
        "hey they go,they go home,they can go,play deco,say gecko,say deco,say ego,day ego,"
        "may ego,may eckhart,they eckhart,they ecuador,weigh echo,fray echo,stray echo,"
        "buffet echo,ballet echo,monday echo,friday echo,subway echo,runway echo,highway echo,"
        "survey echo,convey echo,anyway echo,broadway echo,play an echo,hear an echo,"
        "make an echo,hate an echo,like an echo,some echo,with echo,and echo,or echo,if echo,"
        "is echo,was echo,when echo,where echo,what echo,which echo,such echo,much echo,"
        "touch echo,each echo,teach echo,huge echo,large echo,whose echo,new echo,blue echo,"
        "true echo,who echo,do echo,through echo,now echo,how echo,cow echo,boy echo,toy echo,"
        "saw echo,more echo,four echo,are echo,far echo,star echo,care echo,air echo,there echo"
    ),
)

# For a phrase without a list of its own: words that follow or precede part of it.
OTHER_WORDS = _listed(
    "commuter,compute,computing,confuser,composer,combine,come here,jacket,jasper,garage,service,"
    "google,alexa,siri,marvin,maria,michael,robot,radio,marker,mother,father,brother,sister,"
    "doctor,kitchen,window,garden,music,water,coffee,table,paper,number,never,over,under,after,"
    "people,purple,simple,sample,camera,banana,potato,tomato,animal,hospital,holiday,yesterday,"
    "tomorrow,together,remember,november,december,everybody,somebody,nobody,anything,nothing,"
    "orange,apple,ocean,office,open,actor,echo,elbow,engine,island,ivory,umbrella,uncle,useful"
)
GREETINGS = ("hey", "hi", "hello", "okay", "oh", "say", "they", "a", "the", "my", "no", "and")

# Sounds that listeners tell apart with ease, by kind: a near phrase swaps one for another.
SWAPS: dict[str, str] = {
    "h": "ðsmwbdɡlp",
    "k": "ɡtdnmlsbp",
    "ɡ": "kdblm",
    "t": "kpsnl",
    "d": "bɡnlz",
    "p": "bfmk",
    "b": "pvmd",
    "m": "nbl",
    "n": "mlt",
    "l": "ɹnw",
    "ɹ": "lw",
    "s": "ʃfz",
    "z": "sv",
    "f": "sθp",
    "v": "bw",
    "w": "vɹ",
    "j": "lw",
    "ʤ": "zʃd",
    "ʧ": "tʃs",
    "ʃ": "sʧ",
    "θ": "fs",
    "ð": "dz",
    "A": "OIiə",
    "O": "Aiəuʌ",
    "Q": "Aiə",
    "I": "AO",
    "ɛ": "iOuɑ",
    "i": "ɑOɛ",
    "ɪ": "ɑO",
    "æ": "iO",
    "ə": "iO",
    "ʌ": "iA",
    "ɑ": "iA",
    "ɒ": "iA",
    "u": "iɑA",
    "ɔ": "iA",
    "W": "iA",
    "Y": "iA",
    "ʊ": "iA",
}
VOWELS = "AOQIYWɛiɪæəʌɑɒuɔʊɜᵊ"
ONSETS = "dbɡtmnsvfpz"


@dataclass(frozen=True)
class Phrases:
    """The phrase to be trained, with what surrounds it."""

    phrase: str
    near: Near
    pronunciations: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "pronunciations", pronunciations(self.phrase))

    def mutation(self, rng: random.Random) -> str:
        """Phonemes of the phrase with one sound swapped, put in or left out."""
        base = rng.choice(self.pronunciations[:2])
        spots = [i for i, c in enumerate(base) if c in SWAPS]
        spot = rng.choice(spots)
        kind = rng.random()
        if kind < 0.6:
            changed = base[:spot] + rng.choice(SWAPS[base[spot]]) + base[spot + 1 :]
        elif kind < 0.9:
            vowel = rng.choice([i for i in spots if base[i] in VOWELS])
            before = vowel - 1 if vowel and base[vowel - 1] in "ˈˌ" else vowel
            if before and base[before - 1] != " ":
                before = vowel + 1  # a closed syllable instead of a double onset
            if before == len(base):  # "echoes" still has the phrase in it
                return self.mutation(rng)
            changed = base[:before] + rng.choice(ONSETS) + base[before:]
        else:
            last = base.rindex(" ") + 1 if " " in base else len(base) // 2
            changed = base[last:] if rng.random() < 0.5 else base[: max(last, 2)]
        return self.mutation(rng) if changed in self.pronunciations else changed.strip()

    def said_in(self, text: str) -> bool:
        """Whether the phrase is among the words of a text ("they echo" does not hold it)."""
        words = "".join(c if c.isalnum() or c == "'" else " " for c in text.lower()).split()
        return f" {self.phrase} " in f" {' '.join(words)} "


def phrases_for(phrase: str) -> Phrases:
    phrase = " ".join(phrase.lower().split())
    if phrase == DEFAULT:
        return Phrases(phrase, NEAR_HEY_ECHO)
    first, _, rest = phrase.partition(" ")
    last = rest or first
    words = [w for w in OTHER_WORDS if w not in phrase]
    near = [f"{first} {w}" for w in words] if rest else list(words)
    near += [f"{g} {last}" for g in GREETINGS if f"{g} {last}" != phrase]
    near += [first, last] if rest else []
    kept = [n for n in near if n != phrase]
    shuffled = random.Random(phrase).sample(kept, len(kept))  # noqa: S311
    return Phrases(phrase, Near(tuple(shuffled[20:]), tuple(shuffled[:10]), tuple(shuffled[10:20])))


def pronunciations(phrase: str) -> tuple[str, ...]:
    """Ways to say the phrase, likeliest first: American, British, stresses, accents."""
    american, british = phonemes(phrase, "en-us"), phonemes(phrase, "en-gb")
    found = [american, british]
    for base in (american, british):
        head, _, tail = base.partition(" ")
        if tail:
            found += [f"{head}, {tail}", head + tail, f"{_unstressed(head)} {tail}"]
        found += [
            base.replace("A", "e").replace("O", "o").replace("Q", "o"),  # monophthongs
            _unstressed(base),
        ]
    return tuple(dict.fromkeys(found))


def _unstressed(phones: str) -> str:
    return phones.replace("ˈ", "").replace("ˌ", "")


def request(rng: random.Random) -> str:
    """Something asked of Echo."""
    if rng.random() < 0.5:
        return rng.choice(REQUESTS)
    return f"{rng.choice(VERBS)} the {rng.choice(ROOMS)} {rng.choice(THINGS)}"


def blend(voices: Sequence[str], rng: random.Random) -> dict[str, float]:
    """One voice, or two or three of them mixed: a new speaker."""
    count = rng.choices((1, 2, 3), (0.35, 0.45, 0.2))[0]
    return {v: rng.uniform(0.3, 1.0) for v in rng.sample(list(voices), count)}
