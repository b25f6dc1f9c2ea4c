"""The characters that stand for protected spans in a text. A vocabulary may have a token for each of the first ones.

They are private-use characters, which have no meaning of their own.
"""

MAX_PLACEHOLDERS = 26

FIRST_PLACEHOLDER = 0xF800

PLACEHOLDERS = tuple(chr(FIRST_PLACEHOLDER + number) for number in range(MAX_PLACEHOLDERS))

ALL_PLACEHOLDERS = f"{PLACEHOLDERS[0]}-{PLACEHOLDERS[-1]}"  # as a range in a regular expression
