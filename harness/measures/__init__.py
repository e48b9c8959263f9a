"""Pure maths of the harness: no clock, no network, no files."""
