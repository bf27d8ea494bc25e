"""Engine parts of extras: packages that compute what one extra offers. The rest of the engine imports none of
them; the command line finds the module `commands` of each by itself (docs/extras.md)."""
