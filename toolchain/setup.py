"""Installs the project's requirements. `make setup` runs it, and so does every other target that needs them.

This file reports an interpreter that is too old for the rest. Therefore it uses no syntax newer than Python 3.6, and
imports the rest after that check.
"""

import sys

OLDEST = (3, 11)


def too_old(major: int, minor: int, executable: str) -> str:
    """Returns the message for an interpreter that is too old."""
    return (
        "This project needs Python {}.{} or newer; {} is {}.{}.\n"
        "Name a newer one, for example: make PYTHON=python3.12".format(
            OLDEST[0], OLDEST[1], executable or "this one", major, minor
        )
    )


def main() -> int:
    """Checks the interpreter's version, then runs the set-up."""
    major, minor = sys.version_info[0], sys.version_info[1]
    if (major, minor) < OLDEST:
        sys.stderr.write(too_old(major, minor, sys.executable) + "\n")
        return 1
    from toolchain import install  # noqa: PLC0415 - an older Python cannot parse it

    return install.main(with_engine="--without-engine" not in sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
