"""What computes vectors: one module an engine."""
