"""Tests of synthetic cities."""
