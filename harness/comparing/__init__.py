"""Two builds, or two runs, side by side: what is comparable, what changed, and the verdict."""
