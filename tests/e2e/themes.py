"""Light and dark pages, as the system of the person who looks says."""

from __future__ import annotations

from selenium import webdriver


def prefer(browser: webdriver.Chrome, theme: str) -> None:
    """Have the browser say that its system is "light" or "dark"; "" takes that back.

    A choice written to localStorage instead may reach the next page late: another process may draw that page.
    """
    browser.execute_cdp_cmd(
        "Emulation.setEmulatedMedia",
        {"features": [{"name": "prefers-color-scheme", "value": theme}]},
    )
