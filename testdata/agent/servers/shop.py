"""An API with cursors, failures that pass, and slow answers."""

import time

attempts = {}


def list_orders(cursor: str = "", limit: int = 25):
    """List orders, page by page: next_cursor is empty on the last."""
    first = int(cursor or 0)
    orders = [
        {"id": n, "customer": f"c{n % 7}", "total": round(9.5 + n * 1.25, 2), "status": ["paid", "open", "refunded"][n % 3]}
        for n in range(first, min(first + limit, 110))
    ]
    following = first + limit
    return {"orders": orders, "next_cursor": str(following) if following < 110 else ""}


def flaky(key: str, failures: int = 2):
    """Fail so many times for a key, then succeed."""
    attempts[key] = attempts.get(key, 0) + 1
    if attempts[key] <= failures:
        raise RuntimeError(f"503 service unavailable (attempt {attempts[key]})")
    tried, attempts[key] = attempts[key], 0
    return {"key": key, "attempts": tried}


def slow(seconds: float, value: str):
    """Answer after some time."""
    time.sleep(seconds)
    return value


@tool(name="get-price", inputSchema={
    "type": "object",
    "properties": {
        "sku": {"type": "string", "description": "The article."},
        "currency": {"enum": ["EUR", "USD"], "default": "EUR"},
        "options": {
            "type": "object",
            "properties": {"quantity": {"type": "integer", "minimum": 1}, "coupons": {"type": "array", "items": {"type": "string"}}},
            "additionalProperties": False,
        },
    },
    "required": ["sku"],
    "additionalProperties": False,
})
def get_price(sku: str, currency: str = "EUR", options: dict = None):
    """Get the price of an article."""
    quantity = (options or {}).get("quantity", 1)
    return {"sku": sku, "currency": currency, "price": 4.5 * len(sku) * quantity}
