"""Probes ask a running stack and time it; each suite is one module with a `measure`."""
