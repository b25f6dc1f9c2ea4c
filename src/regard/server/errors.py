"""The reasons for which the server does not answer a request. Routes turn them into the errors of their interface."""

from regard.errors import UserError


class ServeError(UserError):
    """A configuration, keys file or state of the server that the operator must fix."""


class Refusal(Exception):  # noqa: N818 (named as the outcome that it is)
    """A request that is not answered: the HTTP status, a code, a message for the client, and when to try again."""

    status = 400
    code = "bad_request"
    reason: str | None = None  # the value of `reason` in the metric regard_refused_total

    def __init__(self, message: str, *, retry_after: int | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.retry_after = retry_after


class QueueFull(Refusal):
    """More work is waiting than the server accepts."""

    status, code, reason = 429, "queue_full", "queue"


class RateExceeded(Refusal):
    """A client sends requests faster than it may."""

    status, code, reason = 429, "rate_exceeded", "rate"


class QuotaExceeded(Refusal):
    """A key has used up its characters for this month."""

    status, code, reason = 456, "quota_exceeded", "quota"


class DeadlinePassed(Refusal):
    """The work was not finished in time."""

    status, code, reason = 504, "deadline_passed", "deadline"


class Draining(Refusal):
    """The server is shutting down and takes no new work."""

    status, code, reason = 503, "draining", "draining"


class NoEngine(Refusal):
    """No engine process could translate the text."""

    status, code = 503, "no_engine"


class PoisonedRequest(Refusal):
    """A text that has ended two engine processes is not tried again."""

    status, code = 422, "refused_text"


class UnknownPair(Refusal):
    """No served model translates between these languages, or no model has this name."""

    status, code = 400, "unknown_pair"


class TooLarge(Refusal):
    """A request, text or list that exceeds a limit of the server."""

    status, code, reason = 413, "too_large", "size"


class HeadersTooLong(Refusal):
    """A request line and headers beyond their limit."""

    status, code, reason = 431, "headers_too_long", "size"


class BadRequest(Refusal):
    """A request whose settings a model does not accept."""

    status, code = 400, "bad_request"


class TranslationFailed(Refusal):
    """A text on which translation failed because of a fault in Regard."""

    status, code = 500, "internal_error"


class MissingKey(Refusal):
    """A request without a key to a server that asks for one. The status depends on the interface."""

    status, code, reason = 401, "missing_key", "auth"


class WrongKey(Refusal):
    """A key that the server does not know."""

    status, code, reason = 403, "wrong_key", "auth"


class ForbiddenHost(Refusal):
    """A request for another host, or from a web page that may not call the server."""

    status, code, reason = 403, "forbidden_host", "host"


class Hidden(Refusal):
    """A route that this server does not offer."""

    status, code = 404, "not_found"
