"""Searches a second of FindItems beside recipes people would build instead, with many clients."""
