"""Numbered steps; each is applied once, in order."""
