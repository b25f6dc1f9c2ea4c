"""Inspections and measurements as text, SVG and HTML."""
