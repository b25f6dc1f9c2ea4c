"""Store the language profiles in the bundled models, without touching anything else in their folders.

    python recipes/profiles.py

The profiles are those that `regard train` makes from the Tatoeba sentences of the training data. The sentences of the
synthetic language are left out, because their few words are not typical of a language.
"""

from corpora import TATOEBA, tatoeba

from regard.data.synthetic import is_famous
from regard.language_id import LanguageProfile
from regard.model_folder import bundled
from regard.model_folder.folder import HASHED
from regard.model_folder.language_profiles import PROFILES_FILE, write_profiles
from regard.storage.manifest import write_manifest

SAMPLE = 20_000  # of about 170,000 sentences, as in `regard train`


def main() -> None:
    pairs = [pair for pair in tatoeba(TATOEBA / "train.tsv.gz") if not any(map(is_famous, pair))]
    sample = [pairs[number * len(pairs) // SAMPLE] for number in range(SAMPLE)]
    profiles = {
        language: LanguageProfile.of(pair[side] for pair in sample) for side, language in enumerate(("en", "fr"))
    }
    for name in bundled.available():
        folder = bundled.HERE / name
        write_profiles(folder, {language: profiles[language] for language in name.split("-")})
        write_manifest(folder, [*HASHED, PROFILES_FILE])
        print(f"{folder / PROFILES_FILE}: {(folder / PROFILES_FILE).stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
