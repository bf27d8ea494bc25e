"""Technical words carry their explanation, without a script and for the keyboard."""

from __future__ import annotations

import re
from fractions import Fraction

import pytest
from django.conf import settings
from django.template import Context, Template

from synthweb.lib import guarantee, terms

GLOSSARY = (settings.BASE_DIR / "docs" / "glossary.md").read_text()


def rendered(source: str) -> str:
    return Template(source).render(Context())


@pytest.mark.parametrize("key", terms.TERMS)
def test_each_word_is_described_by_its_explanation_and_can_have_the_focus(key: str) -> None:
    word, meaning = (str(part) for part in terms.TERMS[key])
    html = rendered(f"{{% term '{key}' %}}{{% term '{key}' 'Other' %}}")
    names = re.findall(r'aria-describedby="([^"]+)"', html)
    assert len(set(names)) == 2 == html.count('tabindex="0"')
    assert all(f'id="{name}"' in html for name in names)
    assert word in html and "Other" in html and html.count('role="tooltip"') == 2
    assert meaning[:20].split("'")[0] in html


def test_the_words_are_in_the_glossary() -> None:
    words = [str(word) for word, _meaning in terms.TERMS.values()]
    assert [word for word in words if word.casefold() not in GLOSSARY.casefold()] == []


@pytest.mark.parametrize(
    ("epsilon", "word"),
    [
        ("0.1", "strict"),
        ("1", "careful"),
        ("1.01", "moderate"),
        ("3", "moderate"),
        ("4", "lenient"),
        ("8", "weak"),
    ],
)
def test_there_is_one_scale_of_words_for_epsilon(epsilon: str, word: str) -> None:
    assert guarantee.strength(Fraction(epsilon)) == word
    assert word in guarantee.strength_sentence()


def test_the_bounds_on_guesses_that_the_documentation_states_are_those_of_the_scale() -> None:
    rights = [
        guarantee.right_guesses(epsilon=largest, delta=Fraction(0))
        for largest, _word in guarantee.STRENGTHS
    ]
    assert rights == [53, 74, 96, 99]
