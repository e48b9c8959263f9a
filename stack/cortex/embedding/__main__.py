"""`python -m cortex.embedding`: serve embeddings."""

import sys

from cortex.embedding.main import main

if __name__ == "__main__":
    sys.exit(main())
