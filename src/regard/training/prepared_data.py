"""The prepared data that a run trains on."""

from dataclasses import dataclass

from regard.data.formats.records import LanguagePair
from regard.data.prepare.text_store import TextStore
from regard.data.prepare.token_store import EncodedCorpus
from regard.model_folder.folder import ModelFolder
from regard.tokenizers.sentencepiece import SentencePieceTokenizer


@dataclass(frozen=True)
class PreparedData:
    """The texts of a run, their token ids, and the tokenizer between them; `parent` is the model to fine-tune."""

    languages: LanguagePair
    texts: TextStore
    corpus: EncodedCorpus
    tokenizer: SentencePieceTokenizer
    parent: ModelFolder | None
