"""Synthetic cities by REST."""
