"""Runs the work of a command that is started as a module, and explains its errors to the user."""

from __future__ import annotations

from collections.abc import Callable

from console.errors import UserError
from console.programs import ProgramError
from console.progress import Reporter
from console.system_errors import explain


def exit_code(work: Callable[[], object], reporter: Reporter) -> int:
    """Returns 0 after the work, 1 after an error that it has explained, 130 if interrupted."""
    try:
        work()
    except KeyboardInterrupt:
        reporter.say("\nInterrupted. Run the same command again to continue; completed steps are kept.")
        return 130
    except (UserError, ProgramError) as trouble:
        reporter.say(str(trouble))
        return 1
    except OSError as error:
        reporter.say(explain(error))
        return 1
    return 0
