"""Drawing primitives: text, SVG and HTML. They know nothing of what they show."""
