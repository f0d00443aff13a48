"""Files in memory."""

import base64

SALES = "month,region,revenue\n" + "".join(
    f"2025-{month:02d},{region},{1000 + 37 * month + 11 * index}\n"
    for month in range(1, 13)
    for index, region in enumerate(["north", "south"])
)
FILES = {
    "/data/sales.csv": SALES,
    "/data/users.json": '[{"name": "Ada", "age": 36}, {"name": "Bob", "age": 17}, {"name": "Cleo", "age": 29}]',
    "/data/server.log": "".join(
        f"2025-03-01 12:{n % 60:02d}:00 {['INFO', 'WARN', 'ERROR'][n % 3]} worker-{n % 4} took {n * 7 % 90}ms\n" for n in range(90)
    ),
    "/data/config.ini": "[server]\nhost = localhost\nport = 8080\n\n[log]\nlevel = debug\n",
    "/notes/todo.md": "# Todo\n\n- [x] write tests\n- [ ] ship it\n- [ ] rest\n",
}


def read_file(path: str):
    """Read a file as text."""
    if path not in FILES:
        raise FileNotFoundError(f"ENOENT: no such file or directory, open '{path}'")
    return FILES[path]


@tool(
    inputSchema={
        "type": "object",
        "properties": {
            "path": {"type": "string"},
            "content": {"type": "string", "contentEncoding": "base64", "description": "Text, or bytes as base64."},
        },
        "required": ["path", "content"],
    }
)
def write_file(path: str, content: str):
    """Write a file."""
    try:
        size = len(base64.b64decode(content, validate=True))
    except ValueError:
        size = len(content)
        FILES[path] = content
    return {"path": path, "bytes": size}


def list_directory(path: str):
    """List the files and folders in a directory."""
    inside = [name[len(path.rstrip("/")) + 1 :] for name in FILES if name.startswith(path.rstrip("/") + "/")]
    return sorted({name.split("/")[0] for name in inside})


def search_files(pattern: str):
    """Search for files whose path contains a text."""
    return sorted(name for name in FILES if pattern in name)
