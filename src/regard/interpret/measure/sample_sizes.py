"""The default number of sentence pairs of each measurement."""

HEADS = 200  # each head is removed once, and everything is translated again

PRONOUNS = 2000  # minimal pairs: one half finds the heads, the other half measures interventions

PROBES = 500

ALIGNMENT = 500
