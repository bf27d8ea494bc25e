"""Cards of a release."""
