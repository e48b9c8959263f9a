"""The schema of the memory server, as numbered steps forward."""
