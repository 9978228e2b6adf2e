"""Brings what the project needs to run: `make setup`, and every other target before its own work.

This file alone must be readable by a Python that is too old to run the rest, so that such a one is told so in a
sentence: no syntax here that is younger than Python 3.6, and no import of the rest before the check.
"""

import sys

OLDEST = (3, 11)


def too_old(major: int, minor: int, executable: str) -> str:
    """What to tell the owner of an interpreter that is older than the project's oldest."""
    return (
        "This project needs Python {}.{} or newer; {} is {}.{}.\n"
        "Name another one, for instance: make PYTHON=python3.12".format(
            OLDEST[0], OLDEST[1], executable or "this one", major, minor
        )
    )


def main() -> int:
    """Refuses an old interpreter in a sentence, or hands over."""
    major, minor = sys.version_info[0], sys.version_info[1]
    if (major, minor) < OLDEST:
        sys.stderr.write(too_old(major, minor, sys.executable) + "\n")
        return 1
    from toolchain import install  # noqa: PLC0415 - only a Python that has passed can read it

    return install.main(with_engine="--without-engine" not in sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
