"""The page that shows a view: HTML, CSS and ES modules, without a build step."""
