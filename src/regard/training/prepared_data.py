"""The prepared data of a training run."""

from collections.abc import Mapping
from dataclasses import dataclass

from regard.data.formats.records import LanguagePair
from regard.data.prepare.text_store import TextStore
from regard.data.prepare.token_store import EncodedCorpus
from regard.language_id import LanguageProfile
from regard.model_folder.folder import ModelFolder
from regard.tokenizers.sentencepiece import SentencePieceTokenizer


@dataclass(frozen=True)
class PreparedData:
    """The data of a training run, as texts and as token ids, and its tokenizer."""

    languages: LanguagePair
    texts: TextStore
    corpus: EncodedCorpus  # token ids of the texts
    tokenizer: SentencePieceTokenizer
    parent: ModelFolder | None  # the model to fine-tune, if any
    language_profiles: Mapping[str, LanguageProfile]  # by language
