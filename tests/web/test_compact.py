"""Filters that take blanks out of rendered HTML."""

from __future__ import annotations

import json

from django.template import Context, Template
from django.utils.safestring import SafeString

from synthweb.pages.templatetags import compact


def test_blanks_between_tags_of_a_table_go_and_those_of_words_stay() -> None:
    html = SafeString('<tr>\n  <td class="number">\n    1\u202f234\n  </td>\n</tr>')
    assert compact.without_blanks(html) == '<tr><td class="number">1\u202f234</td></tr>'


def test_marks_follow_their_word() -> None:
    html = SafeString("names: id\n  . Next,\n  <b>ε 2</b>\n  , δ .5 <i>x</i>\n :")
    assert compact.joined(html) == "names: id. Next,\n  <b>ε 2</b>, δ .5 <i>x</i>:"


def test_values_are_escaped_all_the_same() -> None:
    template = Template("{% load compact %}{% filter joined %}{{ value }} .{% endfilter %}")
    assert template.render(Context({"value": "<b> ."})) == "&lt;b&gt;.."


def test_a_figure_has_no_blanks_and_does_not_end_its_script() -> None:
    figure = {"x": [1, 2], "words": "a × b </script>"}
    made = compact.compact_script(figure, "figure")
    assert made.startswith(
        '<script id="figure" type="application/json">{"x":[1,2],"words":"a × b \\u003C'
    )
    assert json.loads(made.split(">", 1)[1].rsplit("</script>", 1)[0]) == figure
