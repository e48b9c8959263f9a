"""Pure rules of the embedding service: values in, values out."""
