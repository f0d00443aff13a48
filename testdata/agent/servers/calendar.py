"""Events of a month."""

EVENTS = [
    {"id": 1, "title": "Kickoff", "start": "2025-01-06T09:00:00+01:00", "end": "2025-01-06T10:30:00+01:00", "attendees": ["ada", "bob"]},
    {"id": 2, "title": "Review", "start": "2025-01-15T14:00:00+01:00", "end": "2025-01-15T15:00:00+01:00", "attendees": ["ada", "cleo"]},
    {"id": 3, "title": "Offsite", "start": "2025-01-22T08:00:00+01:00", "end": "2025-01-23T18:00:00+01:00", "attendees": ["ada", "bob", "cleo"]},
    {"id": 4, "title": "Planning", "start": "2025-02-03T10:00:00+01:00", "end": "2025-02-03T11:00:00+01:00", "attendees": ["bob"]},
]


def list_events(start_date: str, end_date: str):
    """List the calendar events between two dates."""
    return [event for event in EVENTS if start_date <= event["start"][:10] <= end_date]


def create_event(title: str, start: str, end: str, attendees: list = None):
    """Create a calendar event."""
    return {"id": 5, "title": title, "start": start, "end": end, "attendees": attendees or []}
