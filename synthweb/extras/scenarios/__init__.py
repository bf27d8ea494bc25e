"""Test data in the web: tables that are altered on purpose, of a release or of a description."""
