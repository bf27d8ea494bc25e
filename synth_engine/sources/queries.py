"""Queries that are proved to choose rows and columns of one table, and nothing else.

Such a result has of each record of the table either that record, with some of its columns, or none, by a
condition on that record alone: neighbouring tables have neighbouring results. Anything else that SQL can say
(windows, groups, limits, joins, functions, other queries) may let one record change others. What is accepted
is a small grammar; a query outside of it may still be right, which somebody then has to vouch for
(docs/scale.md).

    SELECT * | column [[AS] name], …  FROM [schema.]table  [WHERE condition]

A condition compares columns with numbers and texts: = <> != < > <= >=, IS [NOT] NULL, [NOT] IN (…), [NOT]
BETWEEN, [NOT] LIKE, joined by AND, OR, NOT and parentheses.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_TOKEN = re.compile(
    r"""\s*(?:
      (?P<name>[A-Za-z_][A-Za-z_0-9]*|"(?:[^"\x00]|"")+")
    | (?P<number>[0-9]+(?:\.[0-9]+)?)
    | (?P<text>'(?:[^'\\\x00]|'')*')
    | (?P<sign><=|>=|<>|!=|[=<>(),.*-])
    )""",
    re.VERBOSE | re.ASCII,
)
_RESERVED = """
    ALL AND ANY ARRAY AS ASC BETWEEN BY CASE CAST COLLATE CROSS DESC DISTINCT ELSE END ESCAPE EXCEPT EXISTS
    FALSE FETCH FILTER FOR FROM FULL GROUP HAVING ILIKE IN INNER INTERSECT INTO IS JOIN LATERAL LEFT LIKE
    LIMIT NATURAL NOT NULL OFFSET ON ONLY OR ORDER OUTER OVER QUALIFY RIGHT ROW SELECT SIMILAR SOME TABLE
    TABLESAMPLE THEN TRUE UNION USING VALUES WHEN WHERE WINDOW WITH
    ANTI ASOF PIVOT POSITIONAL SAMPLE SEMI UNPIVOT
    CURRENT_CATALOG CURRENT_DATE CURRENT_ROLE CURRENT_SCHEMA CURRENT_TIME CURRENT_TIMESTAMP CURRENT_USER
    LOCALTIME LOCALTIMESTAMP
    SESSION_USER SYSTEM_USER USER
    CMAX CMIN CTID ROWID TABLEOID XMAX XMIN
"""
_WORDS = frozenset(_RESERVED.split())
"""Words that are no name of a column or table here, whatever a database takes them for. Those of the last
line say where a record lies, which depends on others."""
_COMPARISONS = frozenset(("=", "<>", "!=", "<", ">", "<=", ">="))
_DEEPEST = 50

Name = tuple[str, ...]
"""A table as the database knows it: perhaps a schema, and the table."""


class _Otherwise(Exception):
    """The query is none of the grammar."""


def table_of(query: str) -> Name | None:
    """The table of which the query chooses rows and columns; None for any other query."""
    try:
        parser = _QueryParser(list(_tokens(query.strip().removesuffix(";"))))
        return parser.selection()
    except _Otherwise:
        return None


def _tokens(query: str) -> Iterator[tuple[str, str]]:
    at, text = 0, query.rstrip()
    # Two databases end a comment, and read an escape, in their own ways.
    if "--" in text or "/*" in text:
        raise _Otherwise
    while at < len(text):
        token = _TOKEN.match(text, at)
        if token is None:
            raise _Otherwise
        kind = str(token.lastgroup)
        yield kind, token[kind]
        at = token.end()


class _QueryParser:
    """Reads a list of tokens from left to right. Each method takes what it is named after, or raises
    _Otherwise."""

    def __init__(self, tokens: list[tuple[str, str]]) -> None:
        self._tokens, self._at, self._depth = tokens, 0, 0

    def selection(self) -> Name:
        self._word("SELECT")
        if not self._sign("*"):
            self._column_of_result()
            while self._sign(","):
                self._column_of_result()
        self._word("FROM")
        table = self._name()
        if self._is_word("WHERE"):
            self._word("WHERE")
            self._condition()
        if self._at != len(self._tokens):
            raise _Otherwise
        return table

    def _column_of_result(self) -> None:
        self._column()
        if self._is_word("AS"):
            self._word("AS")
            self._one_name()
        elif self._peek()[0] == "name" and not self._is_reserved():
            self._one_name()

    def _condition(self) -> None:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise _Otherwise
        self._term()
        while self._is_word("AND") or self._is_word("OR"):
            self._at += 1
            self._term()
        self._depth -= 1

    def _term(self) -> None:
        while self._is_word("NOT"):
            self._at += 1
        if self._sign("("):
            self._condition()
            self._require_sign(")")
            return
        self._value()
        if self._is_word("IS"):
            self._at += 1
            self._maybe("NOT")
            self._word("NULL")
            return
        kind, text = self._peek()
        if kind == "sign" and text in _COMPARISONS:
            self._at += 1
            self._value()
            return
        self._maybe("NOT")
        if self._is_word("BETWEEN"):
            self._at += 1
            self._value()
            self._word("AND")
            self._value()
        elif self._is_word("LIKE"):
            self._at += 1
            self._value()
        else:
            self._word("IN")
            self._require_sign("(")
            self._value()
            while self._sign(","):
                self._value()
            self._require_sign(")")

    def _value(self) -> None:
        """A column, or a number or text as it stands."""
        if self._sign("-") and self._peek()[0] != "number":
            raise _Otherwise
        if self._peek()[0] in ("number", "text"):
            self._at += 1
        else:
            self._column()

    def _column(self) -> None:
        """The name of a column alone: behind that of its table, PostgreSQL takes a name for a function,
        too."""
        if len(self._name()) > 1:
            raise _Otherwise

    def _name(self) -> Name:
        """A name, perhaps behind those of what it belongs to. One before a parenthesis would be a
        function."""
        parts = [self._one_name()]
        while self._sign("."):
            parts.append(self._one_name())
        if len(parts) > 3 or self._peek() == ("sign", "("):
            raise _Otherwise
        return tuple(parts)

    def _one_name(self) -> str:
        kind, text = self._peek()
        if kind != "name" or self._is_reserved():
            raise _Otherwise
        self._at += 1
        return text

    def _is_reserved(self) -> bool:
        return self._peek()[1].strip('"').upper() in _WORDS

    def _peek(self) -> tuple[str, str]:
        return self._tokens[self._at] if self._at < len(self._tokens) else ("", "")

    def _is_word(self, word: str) -> bool:
        kind, text = self._peek()
        return kind == "name" and text.upper() == word

    def _word(self, word: str) -> None:
        if not self._is_word(word):
            raise _Otherwise
        self._at += 1

    def _maybe(self, word: str) -> None:
        self._at += self._is_word(word)

    def _sign(self, sign: str) -> bool:
        is_next = self._peek() == ("sign", sign)
        self._at += is_next
        return is_next

    def _require_sign(self, sign: str) -> None:
        if not self._sign(sign):
            raise _Otherwise
