"""Formats of dates on pages, by language. Numbers that people read are written by the filters of `amounts`; a
number that a template shows without one may be part of a width or a form field, so it has a decimal point in
every language."""
