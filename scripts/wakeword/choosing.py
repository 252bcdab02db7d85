"""The operating points, chosen on the half of the held-out material that is not reported."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from wakeword.judging import Rule, Scored, figures

SCORES = (
    0.05,
    0.1,
    0.15,
    0.2,
    0.25,
    0.3,
    0.35,
    0.4,
    0.45,
    0.5,
    0.55,
    0.6,
    0.65,
    0.7,
    0.75,
    0.8,
    0.85,
    0.9,
    0.93,
    0.96,
    0.98,
    0.99,
)
ACCEPTS = tuple(n / 4 for n in range(-32, 25))
WEIGHTS = (0.0, 0.2, 0.4, 0.7, 1.0, 1.5)


@dataclass(frozen=True, slots=True)
class Aim:
    """What a sensitivity may cost, and how much each cost counts beside a share of recall.

    alarms: false accepts an hour of real speech; near: share of near phrases, close by and far.
    What is over these counts much more.
    """

    alarms: float
    near: float
    alarm_price: float
    near_price: float


AIMS: Mapping[str, Aim] = {
    "low": Aim(0.1, 0.02, 0.3, 2.0),
    "normal": Aim(0.3, 0.03, 0.1, 1.0),
    "high": Aim(1.0, 0.06, 0.03, 0.3),
}
# Without a second stage a head that strict would miss one call in five. At normal it may wake as
# often as openWakeWord's stock head does on the same recordings: see the card.
AIMS_ALONE: Mapping[str, Aim] = {
    "low": AIMS["high"],
    "normal": Aim(3.6, 0.10, 0.03, 0.3),
    "high": Aim(7.0, 0.15, 0.01, 0.1),
}
# How recall counts.
HEARD: Mapping[str, float] = {
    "clean": 1.0,
    "far 10 dB": 1.0,
    "far 5 dB": 0.5,
    "fast": 0.3,
    "slow": 0.3,
}


def worth(dev: Sequence[Scored], rule: Rule, aim: Aim) -> float:
    """Recall, near, far and at all speeds, less what it costs.

    False accepts are so few that a threshold which just avoids them here may not elsewhere: those
    of a slacker rule count half.
    """
    found = figures(dev, rule)
    slack = replace(
        rule, wakes=rule.wakes * 0.9, certain=rule.certain * 0.97, accept=rule.accept - 0.5
    )
    recall = sum(weight * found.recalled(name) for name, weight in HEARD.items())
    alarms = (found.rate("real") + figures(dev, slack).rate("real")) / 2
    near = found.near_share("clean", "far 10 dB")
    over = 0.7 * max(0.0, alarms - aim.alarms) + 2.0 * max(0.0, near - aim.near)
    return recall - aim.alarm_price * alarms - aim.near_price * near - over


def alone(dev: Sequence[Scored], name: str, like: Rule | None = None) -> Rule:
    """The threshold of the head without a second stage. like: the normal one, to differ from."""
    scores, aim = list(SCORES), AIMS_ALONE[name]
    if like and name == "low":
        scores = [s for s in scores if s > like.wakes] or [like.wakes]
    elif like:
        scores = [s for s in scores if s < like.wakes] or [like.wakes]
    return max((Rule(s) for s in scores), key=lambda rule: worth(dev, rule, aim))


def two_stages(dev: Sequence[Scored], name: str, least: float, like: Rule | None = None) -> Rule:
    """Doubtful, certain and the second stage's bound.

    least: the lowest score that may wake. like: the normal rule, whose second stage is
    kept, and from which the other sensitivities differ in the way their names say. Searched a
    coordinate at a time from several beginnings, as the full grid is large.
    """
    lows = [s for s in SCORES if s >= least]

    def value(rule: Rule) -> float:
        return worth(dev, rule, AIMS[name])

    certains = [*SCORES, 0.995]
    if like and name == "low":
        lows = [s for s in lows if s > like.wakes]
        certains = [s for s in certains if s > like.certain]
    elif like:
        lows = [s for s in lows if s < like.wakes] or [like.wakes]
        certains = [s for s in certains if s < like.certain]
    starts = [(like.weight, like.accept)] if like else [(weight, 1.0) for weight in WEIGHTS]
    ends = []
    for weight, accept in starts:
        rule = Rule(lows[len(lows) // 2], certains[-1], accept, weight)
        for _ in range(2):
            if not like:
                rule = max((replace(rule, accept=a) for a in ACCEPTS), key=value)
            above = [s for s in certains if s > rule.wakes]
            rule = max((replace(rule, certain=s) for s in above), key=value)
            below = [s for s in lows if s < rule.certain]
            rule = max((replace(rule, wakes=s) for s in below), key=value)
        ends.append(rule)
    return max(ends, key=value)
