"""Brings a stack up and down: one table of services, started natively."""
