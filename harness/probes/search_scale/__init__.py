"""`make bench-scale`: a search among ten thousand to a million vectors, loaded by COPY."""
