"""The HTML page that shows the inspection of a sentence: HTML, CSS and ES modules, without a build step."""
