"""Checks Python's version, then installs the Python environment and Pulumi. Run by `make setup` and by other targets.

This module reports a Python that is too old for Quorate. Therefore it uses no syntax newer than Python 3.6, and imports
other modules only after the check.
"""

import sys

OLDEST = (3, 11)


def too_old(major: int, minor: int, executable: str) -> str:
    """Returns the message for a Python interpreter that is too old for Quorate."""
    return (
        "This project needs Python {}.{} or newer; {} is {}.{}.\n"
        "Name a newer one, for example: make PYTHON=python3.12".format(
            OLDEST[0], OLDEST[1], executable or "this one", major, minor
        )
    )


def main() -> int:
    """Checks the version of the Python interpreter, then runs the set-up. Returns the exit code."""
    major, minor = sys.version_info[0], sys.version_info[1]
    if (major, minor) < OLDEST:
        sys.stderr.write(too_old(major, minor, sys.executable) + "\n")
        return 1
    from toolchain import install  # noqa: PLC0415 - an older Python cannot parse it

    return install.main(with_engine="--without-engine" not in sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
