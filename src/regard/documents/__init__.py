"""Documents whose text is translated and whose markup is kept: HTML, XML and plain text files."""
