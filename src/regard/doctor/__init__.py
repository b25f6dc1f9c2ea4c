"""Diagnosis of an installation."""
