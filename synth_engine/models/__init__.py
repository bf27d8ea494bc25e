"""What a release holds and how rows are drawn from it: weights over the domain, networks, trees; and their description for people."""
