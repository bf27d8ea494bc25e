"""An extra that is not part of the product, as a stranger would write it: a job, a card, a REST resource, a
command and a page, in a folder of its own."""
