"""What the embedding service costs beside a bare session on the same model file.

Everything is a ratio of CPU time, taken in one run, turn by turn, so that a busy machine slows
both sides alike. Run it as `python -m harness.probes.embedding_cost`.
"""
