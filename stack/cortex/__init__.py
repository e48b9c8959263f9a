"""Cortex: services for AI agents, and the runtime that brings them up."""
