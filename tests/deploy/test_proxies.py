"""The examples for nginx and Caddy work as they are, apart from addresses and paths, in front of a real server."""

import re
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import requests
from tests.server.running import RunningServer

HOST = "translate.example.org"
TIRED = {"q": "I am tired.", "source": "en", "target": "fr"}
CANARY = "canary7"


@pytest.fixture(scope="module")
def server() -> Iterator[RunningServer]:
    running = RunningServer.start(
        *("--model", "en-fr", "--root-path", "/translate", "--allow-host", HOST),
        *("--set", "serve.trusted_proxies=127.0.0.1", "--set", "serve.requests_per_minute=60"),
    )
    yield running
    running.end()


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port: int = taken.getsockname()[1]
        return port


@contextmanager
def running(*command: str, port: int) -> Iterator[None]:
    """Run a proxy until the end of the block."""
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        for _ in range(200):
            assert process.poll() is None, process.communicate()[0]
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.05)
        yield
    finally:
        process.terminate()
        process.communicate(timeout=10)


def certificate(folder: Path) -> tuple[Path, Path]:
    names = "subjectAltName=IP:127.0.0.1"
    files = folder / "test.crt", folder / "test.key"
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", f"/CN={HOST}"]
    command += ["-addext", names, "-out", str(files[0]), "-keyout", str(files[1])]
    subprocess.run(command, check=True, capture_output=True)
    return files


class Site:
    """The server as clients see it through a proxy."""

    def __init__(self, url: str, certificate: Path | None = None) -> None:
        self._url = url
        self._session = requests.Session()
        self._session.headers["Host"] = HOST
        self._session.trust_env = False  # REQUESTS_CA_BUNDLE would replace the certificate
        self._session.verify = str(certificate) if certificate else True

    def get(self, path: str, **headers: str) -> requests.Response:
        return self._session.get(self._url + path, headers=headers, timeout=60, allow_redirects=False)

    def post(self, path: str, **options: object) -> requests.Response:
        return self._session.post(self._url + path, timeout=60, **options)  # type: ignore[arg-type]


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("nginx") or not shutil.which("openssl"), reason="no nginx, or no openssl")
def test_nginx(server: RunningServer, repository: Path, tmp_path: Path) -> None:
    port, (public, private) = free_port(), certificate(tmp_path)
    site = (repository / "deploy" / "nginx.conf").read_text()
    for old, new in (
        ("listen 443 ssl;", f"listen 127.0.0.1:{port} ssl;"),
        ("    listen [::]:443 ssl;\n", ""),
        ("/etc/ssl/translate.example.org.crt", str(public)),
        ("/etc/ssl/private/translate.example.org.key", str(private)),
        ("/var/log/nginx/translate.log", str(tmp_path / "access.log")),
        ("127.0.0.1:5000", urlsplit(server.url).netloc),
    ):
        assert old in site
        site = site.replace(old, new)
    paths = "".join(
        f"{name}_temp_path {tmp_path}/{name};" for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    (tmp_path / "nginx.conf").write_text(
        f"daemon off; master_process off; pid {tmp_path}/pid; error_log {tmp_path}/error.log;"
        f"events {{}} http {{ {paths} {site} }}"
    )
    with running("nginx", "-c", str(tmp_path / "nginx.conf"), "-p", str(tmp_path), port=port):
        through = Site(f"https://127.0.0.1:{port}/translate", public)
        check_site(through, f"https://{HOST}/translate")
        assert through.get("").headers["Location"].endswith("/translate/")
        # A client cannot choose the address for which its requests are counted.
        statuses = [through.get("/languages", **{"X-Forwarded-For": f"10.0.0.{n}"}).status_code for n in range(70)]
        assert 429 in statuses
    log = (tmp_path / "access.log").read_text()
    assert "POST /translate/translate 200" in log and CANARY not in log


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("caddy"), reason="no Caddy")
def test_caddy(repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.setenv(name, str(tmp_path))
    own = RunningServer.start(*("--model", "en-fr", "--allow-host", HOST, "--set", "serve.trusted_proxies=127.0.0.1"))
    try:
        port = free_port()
        site = (repository / "deploy" / "Caddyfile").read_text()
        site = site.replace(f"{HOST} {{", f"http://{HOST}:{port} {{", 1)
        site = site.replace("127.0.0.1:5000", urlsplit(own.url).netloc)
        (tmp_path / "Caddyfile").write_text("{\n\tadmin off\n}\n" + site)
        with running("caddy", "run", "--config", str(tmp_path / "Caddyfile"), "--adapter", "caddyfile", port=port):
            check_site(Site(f"http://127.0.0.1:{port}"), f"http://{HOST}")
    finally:
        own.end()


def check_site(site: Site, public: str) -> None:
    """Check what a client gets at a site whose address is `public`."""
    assert site.post("/translate", json=TIRED).json()["translatedText"] == "Je suis fatigué."
    assert site.get("/metrics").status_code == 404
    assert site.get("/readyz").json() == {"status": "ok"}
    # Long texts in the request line, as deep-translator sends them; the proxy does not log them.
    long = f"/translate?source=en&target=fr&q={CANARY}+{'I+am+tired.+' * 300}"
    assert site.post(long).status_code == 200
    # The address of a translated file is the public one.
    form = {"source": "en", "target": "fr"}
    answer = site.post("/translate_file", data=form, files={"file": ("a.html", b"<p>I am <b>tired</b>.</p>")}).json()
    path = answer["translatedFileUrl"].removeprefix(public)
    assert answer["translatedFileUrl"].startswith(public) and re.match("/download_file/[^/]+", path)
    assert site.get(path).content == "<p>Je suis <b>fatigué</b>.</p>".encode()
    # The reference page finds its files.
    page = site.get("/v1/docs")
    assert page.status_code == 200
    for link in re.findall(r'(?:src|href)="([^"#]+)"', page.text):
        if not link.startswith(("http", "data:")):
            target = link.removeprefix(urlsplit(public).path) if link.startswith("/") else f"/v1/{link}"
            assert site.get(target.replace("/v1/../", "/")).status_code == 200, link
