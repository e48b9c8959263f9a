"""The memory server: keeps memory items of projects, finds them by words and by meaning."""
