"""Synthetic cities in the web: documents and releases in, several tables out, at no cost (ADR 93)."""
