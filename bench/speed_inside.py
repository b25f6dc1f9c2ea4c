"""Measure how fast the page of `regard serve` draws "Inside", from the arrival of its data to the frame that shows it.

The sentences have 40 tokens. The first drawing opens Inside; the others replace a drawing by that of another text.

    python bench/speed_inside.py
"""

import datetime
import platform
import re
import shutil
import statistics
import subprocess
import sys

from playwright.sync_api import Page, sync_playwright

TIMES = 12
TEXT = (
    "The animal didn't cross the street because it was too tired, and the old cat that lives in the house near the "
    "river saw a tree, but it did not like the {}."
)
NOUNS = ("garden", "table", "letter", "horse", "bridge", "car", "book", "flower", "door", "train", "shop", "boat")
# From the data to the drawing, as the page measures it, and then to the frame that shows it.
WAIT = """async before => {
  const count = () => performance.getEntriesByName("inside").length;
  while (count() === before) await new Promise(requestAnimationFrame);
  const entry = performance.getEntriesByName("inside").at(-1);
  await new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));
  return [entry.duration, performance.now() - entry.startTime];
}"""


def main() -> None:
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        sys.exit("no Chromium")
    command = [sys.executable, "-m", "regard", "serve", "--port", "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as server, sync_playwright() as playwright:
        try:
            assert server.stderr
            url = next(found[1] for line in server.stderr if (found := re.search(r"serving at (http://\S+)", line)))
            browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
            page = browser.new_page(viewport={"width": 1280, "height": 900})
            page.set_default_timeout(60_000)
            page.goto(url)
            page.wait_for_selector("body[data-ready]")
            report(page)
        finally:
            server.terminate()


def report(page: Page) -> None:
    drawn, shown, tokens = [], [], []
    for i, noun in enumerate(NOUNS[:TIMES]):
        page.fill("#source", TEXT.format(noun))
        if i == 0:
            page.wait_for_selector("body[data-translated]")
            page.click("#open-inside")
        elif page.locator(".on-demand button").count():
            page.click(".on-demand button")
        milliseconds, until_shown = page.evaluate(WAIT, i)
        drawn.append(milliseconds)
        shown.append(until_shown)
        tokens.append(page.locator("#sentence .token").count())
    print(f"{datetime.date.today()}, {platform.machine()}")
    for name, times in (("first", slice(0, 1)), ("following", slice(1, None))):
        median, until_shown = statistics.median(drawn[times]), statistics.median(shown[times])
        print(
            f"{name}: drawn in {median:.0f} ms, shown after {until_shown:.0f} ms (longest {max(shown[times]):.0f} ms)"
        )
    print(f"{tokens[0]} words of {TEXT.format(NOUNS[0])!r}")


if __name__ == "__main__":
    main()
