"""Channels of a team; messages go nowhere."""

CHANNELS = {"#engineering": 42, "#general": 130, "#random": 97}


def list_channels():
    """List the channels with the number of their members."""
    return [{"name": name, "members": members} for name, members in CHANNELS.items()]


def post_message(channel: str, text: str, thread_ts: str = ""):
    """Post a message to a channel."""
    if channel not in CHANNELS:
        raise ValueError(f"channel_not_found: {channel}")
    return {"ok": True, "channel": channel, "ts": "1700000000.000100", "length": len(text)}


def get_history(channel: str, limit: int = 10):
    """Get the newest messages of a channel."""
    people = ["ada", "bob", "cleo"]
    return [{"user": people[n % 3], "text": f"message {n} about release 1.{n}", "ts": f"17000000{n:02d}"} for n in range(limit)]
