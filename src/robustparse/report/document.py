"""A whole HTML page that opens offline.

No script, no font, picture or style from elsewhere (its content policy forbids them), readable in
light and dark mode and on a narrow screen.
"""

from collections.abc import Iterable
from html import escape

from robustparse.report.stylesheet import CSS

POLICY = "default-src 'none'; style-src 'unsafe-inline'"


def document(title: str, parts: Iterable[str]) -> str:
    """Return the page's text.

    Args:
        title: plain text, of the window and as the first heading.
        parts: what stands below it, as HTML.
    """
    head = (
        '<meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark">'
        f"<title>{escape(title)}</title><style>{CSS}</style>"
    )
    body = "\n".join([f"<h1>{escape(title)}</h1>", *parts])
    return (
        f'<!DOCTYPE html>\n<html lang="en"><head>{head}</head>\n'
        f"<body><main>\n{body}\n</main></body></html>\n"
    )
