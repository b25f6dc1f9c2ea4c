"""The metrics of the server. Labels come from closed sets: no text, key, address or path of a client is one."""

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from regard import __version__
from regard.server.errors import Refusal

# Those of OpenTelemetry's http.server.request.duration, and 30 seconds.
_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 30)

_POWERS = tuple(2.0**power for power in range(14))


class Metrics:
    """All metrics of one server."""

    def __init__(self) -> None:
        self.registry = registry = CollectorRegistry()

        def counter(name: str, help: str, *labels: str) -> Counter:
            return Counter(f"regard_{name}", help, labels, registry=registry)

        def gauge(name: str, help: str, *labels: str) -> Gauge:
            return Gauge(f"regard_{name}", help, labels, registry=registry)

        def histogram(name: str, help: str, *labels: str, buckets: tuple[float, ...] = _SECONDS) -> Histogram:
            return Histogram(f"regard_{name}", help, labels, buckets=buckets, registry=registry)

        gauge("build_info", "The version of Regard.", "version").labels(__version__).set(1)
        self.http_requests = counter("http_requests_total", "Requests answered.", "route", "method", "code")
        self.http_duration = histogram("http_request_duration_seconds", "Time to answer a request.", "route")
        self.http_in_flight = gauge("http_requests_in_flight", "Requests being answered.")
        self.refused = counter("refused_total", "Requests refused, by reason.", "reason")
        self.queue_requests = gauge("queue_requests", "Requests that wait or are being translated.")
        self.queue_tokens = gauge("queue_tokens", "Estimated tokens of the texts that wait.")
        self.queue_wait = histogram("queue_wait_seconds", "Time that a text waited for an engine.")
        self.batch_sentences = histogram("batch_sentences", "Texts of a batch.", buckets=_POWERS[:7])
        self.batch_tokens = histogram("batch_tokens", "Estimated tokens of a batch.", buckets=_POWERS)
        self.batch_duration = histogram("batch_duration_seconds", "Time to translate a batch.")
        self.tokens = counter("tokens_total", "Estimated source tokens, and target tokens.", "side", "model")
        self.characters = counter("characters_total", "Characters translated.", "model")
        self.cache_hits = counter("cache_hits_total", "Parts of texts that were in a cache.")
        self.cache_misses = counter("cache_misses_total", "Parts of texts that were translated.")
        self.cache_bytes = gauge("cache_bytes", "Memory of the caches of all engines.")
        self.cancelled = counter("cancelled_total", "Requests whose client closed the connection.")
        self.limit_reached = counter("limit_reached_total", "Translations that reached their length limit.")
        self.engine_up = gauge("engine_up", "1 if the engine process is running.", "engine")
        self.engine_restarts = counter("engine_restarts_total", "Engine processes that ended, by reason.", "reason")
        self.engine_resident_bytes = gauge("engine_resident_bytes", "Memory of the engine process.", "engine")

    def count_refusal(self, error: Exception) -> None:
        """Count an error if it is a refusal that has a reason."""
        if isinstance(error, Refusal) and error.reason:
            self.refused.labels(error.reason).inc()

    def render(self) -> bytes:
        """Return all metrics in the text format of Prometheus."""
        return generate_latest(self.registry)
