"""The cards that runs add to the tabs of a release. They are found by themselves (`releases.tabs`)."""
