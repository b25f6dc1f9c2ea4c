"""Make the pictures of web-page.md: a server of the bundled models, a browser, and what a reader would do.

    python docs/how-to/web_page.py [FOLDER]

It needs the extras `serve` and `dev`, and Chromium. The default folder is `pictures/` beside this file.
"""

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

LETTER = """Thank you for your letter.
We had a quiet week at the seaside.
The train was late, so I missed the beginning of the film."""

DESK, PHONE = {"width": 1280, "height": 760}, {"width": 390, "height": 844}


@contextmanager
def server() -> Iterator[str]:
    """Start a server on a free port, and yield its address."""
    command = [sys.executable, "-m", "regard", "serve", "--port", "0", "--set", "serve.deadline=600"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, encoding="utf-8")
    assert process.stderr
    try:
        yield next(found[1] for line in process.stderr if (found := re.search(r"serving at (http://\S+)", line)))
    finally:
        process.terminate()
        process.communicate()


def translate(page: Page) -> None:
    page.fill("#source", LETTER)
    page.wait_for_selector(".wording")


def other_words(page: Page) -> None:
    translate(page)
    page.click("#output .w >> text=loupé")
    page.wait_for_selector(".option")
    page.mouse.move(0, 0)


PICTURES = (
    ("translate.png", DESK, "light", other_words),
    ("translate-dark.png", DESK, "dark", translate),
    ("translate-phone.png", PHONE, "light", translate),
    ("other-words-phone.png", PHONE, "dark", other_words),
)


def main(folder: Path) -> None:
    folder.mkdir(exist_ok=True)
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    with server() as url, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        for name, size, scheme, act in PICTURES:
            page = browser.new_page(viewport=size, color_scheme=scheme, locale="en-US")  # type: ignore[arg-type]
            page.set_default_timeout(120_000)
            page.goto(url)
            act(page)
            page.screenshot(path=folder / name)
            page.close()
            print(folder / name, file=sys.stderr)
        browser.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "pictures")
