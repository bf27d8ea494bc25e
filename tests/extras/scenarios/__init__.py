"""Tests of test data."""
