"""Drawing primitives for text, SVG and HTML, independent of what is drawn."""
