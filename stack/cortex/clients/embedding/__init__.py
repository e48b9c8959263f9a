"""How the stack asks for embeddings: one client for the TEI and the OpenAI interface."""

from cortex.clients.embedding.client import EmbeddingClient

__all__ = ["EmbeddingClient"]
