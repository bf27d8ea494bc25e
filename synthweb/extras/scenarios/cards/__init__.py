"""The card of test data."""
