"""The embedding service: texts in, vectors out, over the interface of Text Embeddings Inference."""
