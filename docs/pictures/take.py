"""Take the picture of the web page in README.md.

    python docs/pictures/take.py

Starts `regard serve`, opens its page in Chromium, and writes page.png beside this file.
"""

import re
import subprocess
import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

TEXT = "The animal didn't cross the street because it was too wide."
SIZE = {"width": 1200, "height": 760}


def main(chromium: str = "/usr/bin/chromium") -> None:
    command = [sys.executable, "-m", "regard", "serve", "--port", "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as server:
        try:
            assert server.stderr
            address = next(found[0] for line in server.stderr if (found := re.search(r"http://\S+", line)))
            _take(address, chromium)
        finally:
            server.terminate()


def _take(address: str, chromium: str) -> None:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page(viewport=SIZE, device_scale_factor=1.5, color_scheme="light")
        page.set_default_timeout(300_000)  # the machine may be busy
        page.goto(f"{address}/")
        page.fill("textarea", TEXT)
        page.wait_for_function("() => document.body.innerText.includes('trop large')")
        page.click("text=Look inside")
        page.wait_for_selector("#inside svg, #inside canvas")
        page.mouse.move(0, 0)
        page.wait_for_timeout(5000)  # pictures are drawn after each other
        page.screenshot(path=str(Path(__file__).with_name("page.png")))
        browser.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
