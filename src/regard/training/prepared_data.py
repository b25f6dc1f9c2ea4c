"""The prepared data that a run trains on."""

from dataclasses import dataclass

from regard.data.prepare.text_store import TextStore
from regard.data.prepare.token_store import EncodedCorpus
from regard.model_folder.folder import Languages, ModelFolder
from regard.tokenizers.sentencepiece import SentencePieceTokenizer


@dataclass(frozen=True)
class PreparedData:
    """What a run learns from."""

    languages: Languages
    texts: TextStore
    shards: EncodedCorpus
    tokenizer: SentencePieceTokenizer
    parent: ModelFolder | None
