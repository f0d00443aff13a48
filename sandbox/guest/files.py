"""The files of /workspace: which a run has changed, and their bytes for the host; and the files that code has open."""

import gc
import os
from binascii import b2a_base64
from fcntl import F_GETFL, fcntl
from io import BufferedRandom, BufferedWriter, TextIOWrapper
from os import O_ACCMODE, O_NONBLOCK, O_RDONLY, fstat, listdir, scandir
from stat import S_ISREG
from weakref import ref

FOLDER = "/workspace"
MOST = 5000  # entries looked at after a run
LISTED = 100  # changed files reported
PASSED_OVER = ("__pycache__",)


class Files:
    """What /workspace held at the end of the last run."""

    def __init__(self):
        self.known = {}
        self.open = {}  # descriptor and mark of a file: references to the objects that write to it

    def changed(self):
        """Return the files that are new or different since the last time, and how many more there are."""
        now = {}
        look(FOLDER, "", now)
        names = sorted(name for name, mark in now.items() if self.known.get(name) != mark)
        files = [{"path": name, "size": now[name][1]} for name in names[:LISTED]]
        self.known = now
        return files, len(names) - len(files)

    def flush(self):
        """Write out what files that are open hold back.

        The objects are looked for among all that there are. That takes long where there are many, so it is
        done only for a file that was not open the last time.
        """
        written = writable()
        last, self.open = self.open, {}
        for key in written:
            objects = last.get(key)
            if objects is None or any(reference() is None for reference in objects):
                break
            self.open[key] = objects
        else:
            written = ()
        if written:
            self.open = {key: [] for key in written}
            for item in gc.get_objects():
                if type(item) in WRITERS and (key := mark(item)) in self.open:
                    self.open[key].append(ref(item))
        for objects in self.open.values():
            for reference in objects:
                try:
                    reference().flush()
                except Exception:
                    pass  # The disk is full, which closing it tells; or it is closed, and another has its number.


WRITERS = (TextIOWrapper, BufferedWriter, BufferedRandom)


def writable():
    """Return the descriptors of regular files that are open for writing, each with the file's mark."""
    found = []
    try:
        descriptors = listdir("/proc/self/fd")
    except OSError:
        return found
    for number in map(int, descriptors):
        try:
            if number > 2 and fcntl(number, F_GETFL) & O_ACCMODE != O_RDONLY:
                status = fstat(number)
                if S_ISREG(status.st_mode):
                    found.append((number, status.st_dev, status.st_ino))
        except OSError:
            pass  # The listing's own.
    return found


def mark(file):
    """Return a file object's descriptor with the file's mark, None if it has none."""
    try:
        number = file.fileno()
        status = fstat(number)
    except (OSError, ValueError, AttributeError):
        return None
    return number, status.st_dev, status.st_ino


def look(folder, prefix, found):
    """Note all files below a folder: when each was written, its size and number."""
    try:
        with scandir(folder) as entries:
            for entry in entries:
                if len(found) >= MOST:
                    return
                name = prefix + entry.name
                if entry.is_dir(follow_symlinks=False):
                    if entry.name not in PASSED_OVER:
                        look(entry.path, name + "/", found)
                elif entry.is_file(follow_symlinks=False) and printable(name):
                    status = entry.stat(follow_symlinks=False)
                    found[name] = (status.st_mtime_ns, status.st_size, status.st_ino)
    except OSError:
        pass  # It has gone meanwhile, or may not be read.


def printable(name):
    """Tell whether a name can be told to others."""
    return name.isprintable() and len(name) <= 1000


def fetch(path, most):
    """Return the answer to the host's wish to read a file."""
    try:
        descriptor = os.open(FOLDER + "/" + path, O_RDONLY | O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError) as error:
        return {"error": getattr(error, "strerror", None) or str(error)}
    try:
        status = fstat(descriptor)
        if not S_ISREG(status.st_mode):
            return {"error": "not a file"}
        if status.st_size > most:
            return {"error": f"{status.st_size} bytes; at most {most} can be read"}
        data = bytearray()
        while len(data) <= most:
            piece = os.read(descriptor, 1 << 20)
            if not piece:
                break
            data += piece
        return {"data": b2a_base64(data[:most], newline=False).decode()}
    except (OSError, MemoryError) as error:
        return {"error": getattr(error, "strerror", None) or "out of memory"}
    finally:
        os.close(descriptor)
