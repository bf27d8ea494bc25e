"""Tells people and their programs what happened: by e-mail and by webhooks. Names and links alone, never
data."""
