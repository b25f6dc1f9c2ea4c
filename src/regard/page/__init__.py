"""The page that shows an inspection: HTML, CSS and ES modules, without a build step."""
