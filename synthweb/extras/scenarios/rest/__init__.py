"""Test data by REST."""
