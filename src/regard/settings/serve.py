"""The settings of the server."""

from dataclasses import dataclass
from typing import ClassVar

from regard.errors import SettingsError
from regard.settings.fields import check_at_least, check_types, setting


@dataclass(frozen=True, kw_only=True)
class ServeSettings:
    """How `regard serve` listens, what it accepts, and when it refuses."""

    section: ClassVar[str] = "serve"

    models: tuple[str, ...] = setting((), "model folders, or names of bundled models; none means all bundled models")
    host: str = setting("127.0.0.1", "address to listen on; 0.0.0.0 is every IPv4 address of the machine")
    port: int = setting(5000, "port to listen on; 0 chooses a free one")
    unix_socket: str = setting("", "path of a UNIX socket to listen on, instead of host and port")
    root_path: str = setting("", "path under which a proxy offers the server, such as /translate")
    trusted_proxies: tuple[str, ...] = setting(
        (), "addresses of proxies whose X-Forwarded-For and X-Forwarded-Proto headers are believed"
    )
    allow_hosts: tuple[str, ...] = setting(
        (), "host names that requests may name; none means loopback names on a loopback address, else any"
    )
    allow_origins: tuple[str, ...] = setting(
        (), "origins of web pages that may call the server, such as https://example.org"
    )
    keys: str = setting("", "file of keys, which `regard serve new-key` writes; without it, no key is needed")
    state: str = setting("", "folder for the usage of each key; none means that usage is forgotten at the end")
    metrics: bool = setting(False, "offer /metrics without a key; on a loopback address without keys it always is")
    engines: int = setting(1, "engine processes; each loads all models, and they share the cores")
    cache_bytes: int = setting(32 << 20, "memory of each engine process for translations that may be asked for again")
    char_limit: int = setting(5_000, "maximum number of characters of a text")
    batch_limit: int = setting(128, "maximum number of texts of a request")
    alternatives_limit: int = setting(10, "maximum number of other translations of a text")
    body_bytes: int = setting(1 << 20, "maximum size of the body of a request, except for files")
    file_bytes: int = setting(5 << 20, "maximum size of an uploaded file")
    queue_requests: int = setting(128, "maximum number of requests that wait or are being translated")
    queue_seconds: float = setting(5.0, "maximum work that may wait for each engine process")
    queue_documents: int = setting(8, "maximum number of documents that wait or are being translated")
    deadline: float = setting(20.0, "seconds after which a request that is not finished is given up")
    document_deadline: float = setting(600.0, "seconds after which a document that is not finished is given up")
    requests_per_minute: int = setting(
        -1, "maximum number of requests of an address without keys; 0 is no limit; -1 is 120, and none on loopback"
    )
    receive_seconds: float = setting(10.0, "seconds in which a client must send its whole request")
    drain_delay: float = setting(0.0, "seconds between the signal to end and the end of accepting connections")

    def __post_init__(self) -> None:
        for name in _LISTS:
            object.__setattr__(self, name, tuple(getattr(self, name)))
            _check_list(f"serve.{name}", getattr(self, name))
        check_types(self)
        for name in _POSITIVE:
            check_at_least(self, name, 1)
        for name in ("port", "cache_bytes", "alternatives_limit", "queue_seconds", "drain_delay"):
            check_at_least(self, name, 0)
        for name in ("deadline", "document_deadline", "receive_seconds"):
            if getattr(self, name) <= 0:
                raise SettingsError(f"serve.{name} must be above 0, got {getattr(self, name)}")
        check_at_least(self, "requests_per_minute", -1)
        if self.port > 65_535:
            raise SettingsError(f"serve.port must be at most 65,535, got {self.port:,}")
        if self.root_path and (not self.root_path.startswith("/") or self.root_path.endswith("/")):
            raise SettingsError(f"serve.root_path starts with / and does not end with it, got {self.root_path!r}")
        if self.drain_delay > 60:
            raise SettingsError(f"serve.drain_delay must be at most 60 seconds, got {self.drain_delay}")


_LISTS = ("models", "trusted_proxies", "allow_hosts", "allow_origins")

_POSITIVE = ("engines", "char_limit", "batch_limit", "body_bytes", "file_bytes", "queue_requests", "queue_documents")


def _check_list(where: str, values: tuple[str, ...]) -> None:
    for value in values:
        if not isinstance(value, str) or not value:
            raise SettingsError(f"{where} must be a list of texts that are not empty, got {value!r}")
