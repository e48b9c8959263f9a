"""What every part of the stack needs: errors, settings, logs, HTTP edges, stage timings."""
