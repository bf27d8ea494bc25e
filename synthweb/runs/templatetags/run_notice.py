"""The notice in the frame of every page: how many of one's own runs have ended and were not looked at yet."""

from __future__ import annotations

from django import template

from synthweb.runs import notices

register = template.Library()


@register.inclusion_tag("runs/_notice.html", takes_context=True)
def run_notice(context: template.Context) -> dict[str, object]:
    """Nothing for those who ask for no runs, and on pages that nobody is signed in to."""
    me, request = context.get("me"), context.get("request")
    if request is None or me is None or not me.asks_for_runs:
        return {"notice": None}
    return {"notice": notices.notice(request.user)}
