"""The cards of a release, a module each with its view and its `CARD`. They are found by themselves
(`releases.tabs`)."""
