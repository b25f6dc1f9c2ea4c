"""Strings that run a script if a page shows them without care, as texts, languages, names of files, paths and markup.

The answers must not be pages of HTML, must forbid scripts, and must keep `&lt;script&gt;` escaped. A browser opens the
addresses that repeat something of the request, and nothing may run in it.
"""

import asyncio
import html
import itertools
import re
from collections import Counter
from collections.abc import Iterable
from typing import Any
from urllib.parse import quote

from campaigns.outcome import Outcome, for_each
from playwright.sync_api import sync_playwright

from regard.benchmark.http_connection import Connection, Response
from regard.benchmark.server_process import ServerProcess

SENTENCE = (
    "{strings} strings that could run a script, as text, markup, language, name of a file and address, in {requests:,} "
    "requests: {pages} answers that are pages, {unprotected} without the headers that forbid scripts, {unescaped} with "
    "markup that was escaped or absent in the request; {visits} of these addresses opened in a browser, {executed} "
    "scripts run."
)

_CODE = "window.name='executed';alert(1)"
_FORMS = [
    "<script>{}</script>", "<img src=x onerror=\"{}\">", "<svg onload=\"{}\">", "<svg/onload={}>",
    "\"><script>{}</script>", "'><img src=x onerror='{}'>", "</textarea><script>{}</script>",
    "</title><script>{}</script>", "javascript:{}", "<a href=\"javascript:{}\">x</a>",
    "<iframe srcdoc=\"<script>{}</script>\">", "<body onload=\"{}\">", "${{{}}}", "<details open ontoggle=\"{}\">",
    "<math><mtext></mtext><script>{}</script></math>", "<!--><script>{}</script>-->",
    "<scr<script>ipt>{}</scr</script>ipt>", "<ScRiPt>{}</sCrIpT>", "<script\x00>{}</script>",
    "<script\n>{}</script >", "<style>@import 'javascript:{}';</style>", "<input autofocus onfocus=\"{}\">",
    "<video><source onerror=\"{}\">", "%3Cscript%3E{}%3C/script%3E", "\\u003cscript\\u003e{}\\u003c/script\\u003e",
    "+ADw-script+AD4-{}+ADw-/script+AD4-", "\"onmouseover=\"{}\" x=\"", "'-{}-'", "{{{{{}}}}}",
    "<base href=//example.org><script>{}</script>", "]]><script>{}</script>",
]  # fmt: skip
_WRAPS = [
    "{}", "Hello {}.", "{} Hello.", "<p>{}</p>", "\u202e{}", "{}\r\nX: y", "&lt;b&gt;{}", "<b title='{}'>a</b>",
    "\n{}\n", "<!-- {} -->", "{}{}", "<textarea>{}</textarea>", "<keep>{}</keep>", "`{}`", "http://example.org/?{}",
    "{}\ufeff", "{}é🙂",
]  # fmt: skip
_TAG = re.compile(r"<[A-Za-z/!][^>]*>?")
_EN_FR = {"source": "en", "target": "fr"}
_TASKS = 4


def strings(count: int) -> list[str]:
    """Return hostile strings."""
    made = (wrap.replace("{}", form.format(_CODE)) for wrap, form in itertools.product(_WRAPS, _FORMS))
    return list(itertools.islice(made, count))


def run(server: ServerProcess, count: int) -> Outcome:
    chosen = strings(count)
    outcome = Outcome({"strings": len(chosen), "requests": 0, "pages": 0, "unprotected": 0, "unescaped": 0})
    asyncio.run(for_each(chosen, _TASKS, lambda _, items: _ask(server, items, outcome)))
    _visit(server, chosen, outcome)
    return outcome


async def _ask(server: ServerProcess, items: Iterable[str], outcome: Outcome) -> None:
    connection = Connection(*server.address)
    for text in items:
        for path, fields in _requests(text):
            _check_answer(await connection.post(path, fields), f"{path} {text!r}", outcome)
        for path in _addresses(text):
            _check_answer(await connection.get(path), path, outcome)
        await _check_markup(connection, text, outcome)
        await _check_file_name(connection, text, outcome)
    connection.close()


def _requests(text: str) -> list[tuple[str, dict[str, Any]]]:
    return [
        ("/translate", {"q": text, **_EN_FR}),
        ("/translate", {"q": "Hello.", "source": text, "target": "fr"}),
        ("/translate", {"q": "Hello.", **_EN_FR, "format": text}),
        ("/detect", {"q": text}),
        ("/v2/translate", {"text": [text], "target_lang": text}),
        ("/v1/translate", {"text": text, **_EN_FR, "model": text}),
    ]


def _addresses(text: str) -> list[str]:
    quoted = quote(text, safe="")
    return [f"/{quoted}", f"/v1/{quoted}", f"/download_file/{quoted}", f"/v2/languages?type={quoted}"]


def _check_answer(response: Response, what: str, outcome: Outcome) -> None:
    outcome.count("requests")
    headers = response.headers
    if not headers.get("content-type", "").startswith("application/json"):
        outcome.count("pages")
        outcome.fault(f"{what}: {headers.get('content-type')}")
    policy = headers.get("content-security-policy", "")
    if headers.get("x-content-type-options") != "nosniff" or "default-src 'none'" not in policy or "unsafe" in policy:
        outcome.count("unprotected")
        outcome.fault(f"{what}: the headers {dict(headers)}")
    outcome.check(response.status < 500, f"{what}: status {response.status}")


async def _check_markup(connection: Connection, text: str, outcome: Outcome) -> None:
    """Send a string as markup and escaped: the tags of the answer must be those of the request."""
    for sent in (text, html.escape(text), f"<p>{html.escape(text)}</p>"):
        response = await connection.post("/translate", {"q": sent, "format": "html", **_EN_FR})
        _check_answer(response, f"/translate as html {sent!r}", outcome)
        answer = response.json().get("translatedText", "")
        added = Counter(_TAG.findall(answer)) - Counter(_TAG.findall(sent))
        if added and sent != text:
            outcome.count("unescaped")
            outcome.fault(f"{sent!r} became {answer!r}")


async def _check_file_name(connection: Connection, text: str, outcome: Outcome) -> None:
    name = text.replace("\r", "").replace("\n", "").replace('"', "%22").encode("utf-8", "replace") + b".txt"
    field = '--x\r\nContent-Disposition: form-data; name="{}"\r\n\r\n{}\r\n'
    fields = "".join(field.format(key, value) for key, value in _EN_FR.items())
    head = b'--x\r\nContent-Disposition: form-data; name="file"; filename="' + name + b'"\r\n\r\nHello.\r\n--x--\r\n'
    response = await connection.request(
        "POST", "/translate_file", fields.encode() + head, "multipart/form-data; boundary=x"
    )
    _check_answer(response, f"/translate_file {name!r}", outcome)
    if response.status == 200:
        url = response.json()["translatedFileUrl"]
        outcome.check(bool(re.fullmatch(r"http://[\w.:]+/download_file/[\w.-]+", url)), f"the address {url!r}")
        file = await connection.get(url[url.index("/download_file/") :])
        disposition = file.headers.get("content-disposition", "")
        outcome.check(disposition.startswith("attachment"), f"{name!r} is downloaded as {disposition!r}")
        outcome.check(file.headers.get("x-content-type-options") == "nosniff", f"{name!r} may be sniffed")


def _visit(server: ServerProcess, chosen: list[str], outcome: Outcome) -> None:
    outcome.facts |= {"visits": 0, "executed": 0}
    executable = _browser()
    if executable is None:
        outcome.fault("there is no Chromium to open the addresses in")
        return
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, args=["--no-sandbox"])
        page = browser.new_page()
        page.on("dialog", lambda dialog: (outcome.fault(f"a script ran at {page.url}"), dialog.dismiss()))
        for text in chosen:
            for path in _addresses(text):
                try:
                    page.goto(server.url + path, wait_until="load", timeout=20_000)
                except Exception as error:  # a download is no page
                    if "Download is starting" not in str(error):
                        raise
                outcome.count("visits")
                if page.evaluate("window.name") == "executed":
                    outcome.count("executed")
                    outcome.fault(f"a script ran at {path}")
                    page.evaluate("window.name = ''")
        browser.close()


def _browser() -> str | None:
    import shutil

    return next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
