"""What all tests share: a deadline to poll to, and servers that are started once a worker."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
