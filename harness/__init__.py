"""The harness: measures a running stack through its public interfaces and judges the result."""
