"""The fields of requests and answers of our own interface; the descriptions are those of its documentation."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

Language = Annotated[str, Field(min_length=1, max_length=35, examples=["en"])]

# In JSON, 2.0 is a whole number, too.
WholeNumber = Annotated[int, BeforeValidator(lambda value: int(value) if _is_whole(value) else value)]

Texts = str | Annotated[list[str], Field(min_length=1)]

TEXT = "text to translate; a single line that is not too long for the model"
SOURCE = "language of the text; without it, or with null, the language is identified"
TARGET = "language of the translation"
MODEL = "name of a model (see /v1/models); without it, the first model that translates between the two languages"


def _is_whole(value: object) -> bool:
    return isinstance(value, float) and value.is_integer()


class _Request(BaseModel):
    """Values are not converted, and unknown fields are refused, because a misspelt one would have no effect."""

    model_config = ConfigDict(extra="forbid", strict=True)


class LanguagesRequest(_Request):
    """The languages of a request, and the model."""

    source: Language | None = Field(default=None, description=SOURCE)
    target: Language = Field(description=TARGET, examples=["fr"])
    model: str | None = Field(default=None, description=MODEL)


class TranslateRequest(LanguagesRequest):
    """Texts to translate."""

    text: Texts = Field(description="text, or list of texts", examples=["I am tired."])
    format: Literal["text", "html", "xml"] = Field(default="text", description="html and xml keep the tags of the text")
    n_best: WholeNumber = Field(default=1, ge=1, description="number of translations of each text, best first")
    words: bool = Field(default=False, description="also return the words of text and translation")


class AlternativesRequest(LanguagesRequest):
    """A translation, and the place from which it is to be different."""

    text: str = Field(description=TEXT, examples=["I am tired."])
    word: WholeNumber = Field(
        ge=0,
        description="number of the word of the translation from which on it may differ, counted from 0",
        examples=[2],
    )
    translation: str | None = Field(default=None, description="the translation; without it, the model translates first")
    count: WholeNumber = Field(default=5, ge=1, description="maximum number of alternatives")


class LookRequest(LanguagesRequest):
    """A text whose translation is inspected."""

    text: str = Field(description=TEXT, examples=["I am tired."])
    translation: str | None = Field(default=None, description="given translation to inspect instead of the model's own")
    without: str | None = Field(
        default=None,
        description="what is removed from the model: an attention head, positions, or scaling",
        examples=["encoder.2.self.5"],
    )
    instead: str | None = Field(
        default=None,
        description="what replaces the attention weights of the removed head: uniform, or a pair of tokens, counted "
        "from 1, of which the first attends only to the second",
        examples=["uniform", "8:2"],
    )
    parts: list[Literal["facts", "maps", "opening", "effects", "page"]] = Field(
        default=["facts", "maps"],
        description="facts are tokens, steps and sizes; maps are all attention weights; opening is the head and the "
        "word to show first; effects are those of removing each head, which takes seconds; page is all of it as an "
        "HTML page that needs no other file",
    )
    vectors: list[str] = Field(
        default=[], description="addresses of heads and recurrent layers, or positions, whose vectors are returned"
    )


class DetectRequest(_Request):
    """Texts whose language is wanted."""

    text: Texts = Field(description="text, or list of texts", examples=["I am tired."])


class Detected(BaseModel):
    """A language in which a text may be."""

    language: str
    confidence: int = Field(ge=0, le=100, description="how sure this is, in percent")


class Notice(BaseModel):
    """A reason to check a translation. Places are the index of the first character, and of that after the last one."""

    kind: str
    message: str
    source: tuple[int, int] | None = Field(description="place in the text")
    target: tuple[int, int] | None = Field(description="place in the translation")


class SourceWord(BaseModel):
    """A word, which has white space around it. Places are counted in code points and in UTF-16."""

    text: str
    start: int
    end: int
    utf16_start: int
    utf16_end: int


class TargetWord(SourceWord):
    """A word of a translation."""

    probability: float | None = Field(
        description="calibrated probability of the word after those before it; null if the word was copied"
    )
    source: list[int] = Field(description="numbers of the source words, counted from 0, to which the word is linked")


class Candidate(BaseModel):
    """One of several translations."""

    text: str
    score: float | None = Field(description="log-probability, divided by the length penalty")
    log_probability: float | None
    words: list[TargetWord] | None = Field(default=None, description="of the translation; only if requested")


class TranslationAnswer(Candidate):
    """The translation of a text."""

    source: str = Field(description="language of the text")
    target: str
    detected: Detected | None = Field(description="the identified language, if none was given")
    models: list[str] = Field(description="the model; two, if the text was translated into another language between")
    pivot: str | None = Field(description="the language between two models")
    alternatives: list[Candidate]
    warnings: list[Notice]
    source_words: list[SourceWord] | None = Field(default=None, description="of the text; only if requested")


class TranslateAnswer(BaseModel):
    """The translation of each text, in their order."""

    translations: list[TranslationAnswer]


class LookStateAnswer(BaseModel):
    """Whether the process that looks inside models is running."""

    state: Literal["stopped", "starting", "running"] = Field(description="a stopped process starts when it is needed")
    waiting: int = Field(description="number of requests that it has not answered yet")


class DetectAnswer(BaseModel):
    """The languages in which each text may be, most probable first; none if the language is unknown."""

    detections: list[list[Detected]]


class Alternative(Candidate):
    """A translation with another word at the given place, and its words."""

    word: str
    probability: float = Field(description="of the word, after the words before it")


class AlternativesAnswer(BaseModel):
    """Translations that begin in the same way; the most probable word is first, and may be that of the translation."""

    source: str = Field(description="language of the text")
    alternatives: list[Alternative]


class ModelAnswer(BaseModel):
    """A served model."""

    name: str
    source: str
    target: str
    description: str = Field(description="architecture in a sentence")
    has_alignment: bool = Field(description="whether words are linked and tags are placed by the word alignment")
    card: str | None = Field(description="the model card, in Markdown")


class ModelsAnswer(BaseModel):
    """The served models."""

    models: list[ModelAnswer]


class Problem(BaseModel):
    """What is wrong with a request."""

    code: str = Field(examples=["invalid_request"])
    message: str


class ErrorAnswer(BaseModel):
    """The answer to a request that is refused."""

    error: Problem


def error_responses(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Return the description of errors in the schema."""
    return {status: {"model": ErrorAnswer, "description": ERRORS[status]} for status in statuses}


ERRORS = {
    400: "The body is not JSON.",
    401: "The server asks for a key, and there is none.",
    403: "The key is wrong, or the page that calls may not.",
    404: "No model translates between these languages, or has this name.",
    413: "A text, a list or the request is too large.",
    422: "A field is missing, unknown, or has a wrong value.",
    429: "Too many requests, or the quota of the key is used up; Retry-After says when to try again.",
    500: "An internal error.",
    503: "The server is ending, or cannot translate now.",
    504: "The translation took too long.",
}
