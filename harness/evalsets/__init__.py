"""Eval sets: documents, queries and judgments in BEIR form, checked before anything is started."""
