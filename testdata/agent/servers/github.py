"""Issues and files of two repositories; nothing that is created stays."""

TITLES = ["Login fails on Safari", "Dark mode", "Crash on empty file", "Typo in README", "Slow search", "Export to CSV"]


def _issues():
    for n in range(1, 121):
        yield {
            "number": n,
            "title": f"{TITLES[n % len(TITLES)]} #{n}",
            "state": "closed" if n % 3 == 0 else "open",
            "labels": ["bug"] if n % 2 else ["enhancement"],
            "user": {"login": ["ada", "bob", "cleo"][n % 3]},
            "comments": n % 5,
            "created_at": f"2025-{(n - 1) // 10 + 1:02d}-{n % 28 + 1:02d}T10:00:00Z",
        }


def list_issues(repo: str, state: str = "open", labels: list = None, since: str = "", page: int = 1, per_page: int = 30):
    """List the issues of a repository, newest first. State is open, closed or all."""
    if repo not in ("myorg/myrepo", "owner/repo"):
        raise ValueError(f"repository {repo} not found")
    found = [
        issue
        for issue in sorted(_issues(), key=lambda issue: -issue["number"])
        if state in ("all", issue["state"]) and set(labels or ()) <= set(issue["labels"]) and issue["created_at"] >= since
    ]
    return found[(page - 1) * per_page : page * per_page]


def get_issue(repo: str, number: int):
    """Get one issue by its number."""
    for issue in _issues():
        if issue["number"] == number:
            return {**issue, "repo": repo, "body": f"Steps to reproduce for issue {number}."}
    raise ValueError(f"issue {number} not found in {repo}")


def create_issue(repo: str, title: str, body: str = "", labels: list = None):
    """Create an issue in a repository."""
    return {"number": 121, "title": title, "body": body, "labels": labels or [], "url": f"https://github.com/{repo}/issues/121"}


def add_comment(repo: str, number: int, body: str):
    """Add a comment to an issue."""
    return {"id": 9000 + number, "body": body}


def create_or_update_file(repo: str, path: str, content: str, message: str):
    """Create or update a file in a repository."""
    return {"path": path, "size": len(content), "commit": message}


def search_code(query: str, limit: int = 10):
    """Search the code of all repositories."""
    return {"total": 3, "items": [{"path": f"src/{query}_{n}.py", "line": n * 10} for n in range(1, min(limit, 3) + 1)]}
