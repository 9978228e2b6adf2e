"""Follows a Pulumi run by its events: what is being done, how much of it is done, and what is waited for."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from commands.run import resources
from console.progress import duration
from policy.engine.events import EngineStep, Event, PhaseEnd
from text.quoting import single_line

MOST = 5
"""Maximum number of resources shown that an update waits for."""
PATIENCE = 2.0
"""Seconds after which an operation in progress is shown as waited for."""
_LONGEST = 160

_DOING = {"preview": "Previewing", "up": "Updating", "refresh": "Refreshing", "destroy": "Destroying"}
_UNCHANGED = frozenset({"same", "read"})

Clock = Callable[[], float]


@dataclass
class _Waiting:
    """An operation in progress."""

    title: str
    since: float
    reason: str = ""
    """What the provider last reported, such as Kubernetes' reason why an object is not ready."""


@dataclass
class RunProgress:
    """Progress of one Pulumi command on a stack. Events come from one thread, and `lines` is called by another."""

    verb: str
    """The Pulumi command: up, preview, refresh or destroy."""
    stack: str
    expected: int = 0
    """Number of changes that the last preview announced; 0 if it is not known."""
    clock: Clock = time.monotonic
    times: dict[str, float] = field(default_factory=dict[str, float])
    """Duration of each completed phase in seconds, by its name: preview or the verb."""

    def __post_init__(self) -> None:
        self._lock = threading.Lock()
        self._is_interrupted = False
        self._begin()

    def _begin(self) -> None:
        self._started = self.clock()
        self._is_ended = False
        self._is_planned = self.verb == "preview"
        self._seen = self._done = 0
        self._waiting: dict[str, _Waiting] = {}

    def take(self, event: Event) -> None:
        """Follows an event of the run."""
        with self._lock:
            if event.begins_phase and self._is_ended:
                self._begin()
            if step := event.step:
                self._start(step)
            elif step := event.finished or event.failed:
                self._end(step)
            elif (message := event.message) and message.urn in self._waiting and message.severity != "debug":
                self._waiting[message.urn].reason = message.text
            elif end := event.end:
                self._close(end)

    def interrupt(self) -> None:
        """Shows that the run ends after its operations in progress. A signal handler may call it: it takes no lock."""
        self._is_interrupted = True

    def _start(self, step: EngineStep) -> None:
        self._is_planned = step.is_planned
        self._seen += 1
        if step.operation not in _UNCHANGED and resources.is_real(step):
            self._waiting[step.urn] = _Waiting(resources.title(step), self.clock())

    def _end(self, step: EngineStep) -> None:
        # Components are reported twice, and are not changes by themselves.
        self._done += self._waiting.pop(step.urn, None) is not None

    def _close(self, end: PhaseEnd) -> None:
        self.times["preview" if end.is_preview else self.verb] = self.clock() - self._started
        self._waiting.clear()
        self._is_ended = True
        if end.is_preview:
            self.expected = self._done

    @property
    def title(self) -> str:
        """What the run does, such as `Updating dev`."""
        return f"{_DOING[self.verb]} {self.stack}"

    def lines(self) -> Sequence[str]:
        """Returns what is being done as one line, and then a line for each of the resources longest waited for."""
        with self._lock:
            now = self.clock()
            in_progress = sorted(self._waiting.values(), key=lambda each: each.since)
            slow = [] if self._is_planned else [each for each in in_progress if now - each.since >= PATIENCE]
            first = f"{self._doing()}, {duration(now - self._started)}"
            if slow:
                first += f"; waiting for {len(slow)}"
            return [first, *(f"  {self._told(each, now)}" for each in slow[:MOST])]

    def _doing(self) -> str:
        if self._is_interrupted:
            return f"Interrupted; ending {len(self._waiting)} operations in progress"
        if not self._seen:
            return f"{self.title}: starting Pulumi and the program"
        if self._is_planned:
            return f"Previewing {self.stack}: {self._seen} resources, {self._done} changes"
        done = f"{self._done} of {self.expected}" if self.expected else f"{self._done}"
        return f"{self.title}: {done} resources"

    def _told(self, waiting: _Waiting, now: float) -> str:
        reason = single_line(" ".join(waiting.reason.split()), _LONGEST)
        return f"{waiting.title}, {duration(now - waiting.since)}" + (f": {reason}" if reason else "")
