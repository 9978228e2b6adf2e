"""`python3 -m galera_backup backup` takes a backup of Galera, `restore` restores one, and `test` tests one."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence

from .backup import take
from .backup_files import Refused, alone, say, settings
from .restore import restore
from .scratch import compare


def main(arguments: Sequence[str]) -> int:
    """Does what the argument names. Returns 0, or 1 after an error, whose cause is printed."""
    operations = {"backup": take, "restore": restore, "test": compare}
    try:
        with alone():
            operations[arguments[0]](settings())
    except (Refused, OSError) as error:
        say(str(error))
        return 1
    except subprocess.CalledProcessError as error:
        said = (error.stderr or error.stdout or "").splitlines()
        say(f"{' '.join(error.cmd[:2])} … failed with {error.returncode}:\n" + "\n".join(said[-15:]))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
