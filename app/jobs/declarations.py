"""Jobs: functions that run at the times of a schedule, declared by decorators."""

from collections.abc import Callable
from dataclasses import dataclass, field
from inspect import (
    isasyncgenfunction,
    iscoroutinefunction,
    isfunction,
    isgeneratorfunction,
    signature,
)

from flask import Flask

from app.problems import ConfigurationError
from app.project_modules import imported_modules
from app.state import AppState

from .models import MAX_NAME
from .schedules import MAX_SECONDS, Crontab, Interval, Schedule

#: Default seconds after which another process runs a job that hangs or whose process was killed.
LEASE = 600.0


@dataclass(frozen=True)
class Job:
    """A job; calling it calls its function, as tests do."""

    name: str
    function: Callable[[], object] = field(repr=False)
    schedule: Schedule
    # The longest that a run may take, in seconds.
    lease: float = LEASE

    def __post_init__(self) -> None:
        if not 0 < len(self.name) <= MAX_NAME:
            raise ValueError(f"the name of a job has at most {MAX_NAME} characters: {self.name}")
        if not 0 < self.lease <= MAX_SECONDS:
            raise ValueError("a lease has more than 0 seconds, and at most those of 366 days")

    def __call__(self) -> object:
        """Run the function once, now, and return what it returns."""
        return self.function()


Decorator = Callable[[Callable[[], object]], Job]


def every(*, seconds: int = 0, minutes: int = 0, hours: int = 0, lease: float = LEASE) -> Decorator:
    """Run a function without arguments at regular intervals, which are added up.

    They are counted from midnight, UTC: `minutes=15` are those at 0, 15, 30 and 45 past. A run
    takes less than `lease` seconds: after them another process may run the job.
    """
    return _declare(Interval(seconds + 60 * minutes + 3600 * hours), lease)


def cron(line: str, *, zone: str = "UTC", lease: float = LEASE) -> Decorator:
    """Run a function without arguments at the times of a line of crontab in a time zone.

    `line` has minute, hour, day of the month, month and day of the week. Raises ValueError for a
    line that is none or never comes, and for an unknown time zone.
    """
    return _declare(Crontab(line, zone), lease)


def _declare(schedule: Schedule, lease: float) -> Decorator:
    def decorate(function: Callable[[], object]) -> Job:
        if not isfunction(function) or not function.__name__.isidentifier():
            raise ValueError(f"a job is declared by def, and {function!r:.80} is not")
        if "." in function.__qualname__:
            raise ValueError(
                f"{function.__name__} is inside a function or class, where no job is found"
            )
        if not _is_callable_alone(function):
            raise ValueError(
                f"{function.__name__} is async, yields, or has arguments without a default"
            )
        return Job(function.__name__, function, schedule, lease)

    return decorate


def _is_callable_alone(function: Callable[..., object]) -> bool:
    """Return True if a call without arguments runs the function."""
    try:
        signature(function).bind()
    except TypeError:
        return False
    # Calls of these only make an object, which nobody runs.
    makers = iscoroutinefunction, isgeneratorfunction, isasyncgenfunction
    return not any(is_maker(function) for is_maker in makers)


# The jobs of an app by name.
jobs = AppState[dict[str, Job]]("jobs", factory=lambda _app: {})


def add(app: Flask, job: Job) -> None:
    """Let an app run a job; raise ConfigurationError if it has another one of this name."""
    if jobs.of(app).setdefault(job.name, job) is not job:
        raise ConfigurationError(f"there are two jobs {job.name}: rename one of the functions")


def add_declared(app: Flask) -> None:
    """Add the jobs that the modules of the project have declared or imported."""
    for module in imported_modules(app):
        for value in list(vars(module).values()):
            if isinstance(value, Job):
                add(app, value)
