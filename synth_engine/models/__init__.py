"""Models of releases, and how rows are drawn from them: weights over the domain, networks,
trees; and their description for people."""
