"""The command line's program: reads the guest's source off the wire and starts it.

It is passed to ``python3 -I -c``, so that nothing of the guest has to be
mounted. The first line of file descriptor 0 carries every other module.
"""

import json
import os
import sys


def boot() -> None:
    """Read the boot frame, then hand over to the importer's start."""
    data = bytearray()
    while b"\n" not in data:
        part = os.read(0, 1 << 16)
        if not part:
            os._exit(0)
        data += part
    line, rest = bytes(data).split(b"\n", 1)
    params = json.loads(line)["params"]
    module = type(sys)("_guest.importer")
    sys.modules[module.__name__] = module
    source = params["modules"]["importer"]
    exec(compile(source, "bridge/guest/importer.py", "exec"), module.__dict__)
    module.start(params, rest)


boot()
