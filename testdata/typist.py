"""typist.py STEPS COMMAND...: a person at a terminal of their own, in which the command runs.

Each line of STEPS is `type TEXT`, `see REGEXP`, which waits until the terminal
has shown it after what was seen before, or `grow PATH`, which waits until a file
has two lines more. What the terminal has shown goes to stdout, byte for byte.
"""

import os
import pty
import re
import select
import sys
import time

PATIENCE = 60  # seconds


def main():
    with open(sys.argv[1]) as steps:
        steps = [line.rstrip("\n").split(" ", 1) for line in steps]
    pid, terminal = pty.fork()
    if pid == 0:
        os.execvp(sys.argv[2], sys.argv[2:])
    shown, seen, deadline = b"", 0, time.monotonic() + PATIENCE
    while True:
        while steps:
            done, seen = step(steps[0], terminal, shown, seen)
            if not done:
                break
            steps.pop(0)
        if time.monotonic() > deadline:
            os.kill(pid, 9)
        if select.select([terminal], [], [], 0.02)[0]:
            try:
                data = os.read(terminal, 65536)
            except OSError:  # the command has ended
                data = b""
            if not data:
                break
            shown += data
    sys.stdout.buffer.write(shown)
    sys.stdout.flush()
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    if steps:
        sys.exit(f"typist: the command ended, with {status}, before {' '.join(steps[0])}")
    sys.exit(status)


def step(words, terminal, shown, seen):
    """Take a step if it can be taken; tell whether it was, and what is seen now."""
    if words[0] == "type":
        os.write(terminal, words[1].encode() + b"\n")
        return True, seen
    if words[0] == "see":
        match = re.compile(words[1].encode()).search(shown, seen)
        return bool(match), match.end() if match else seen
    with open(words[1]) as file:
        lines = file.read().count("\n")
    words[2:] = words[2:] or [lines + 2]
    return lines >= words[2], seen


main()
