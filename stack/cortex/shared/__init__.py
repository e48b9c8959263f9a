"""What every part of the stack needs: errors, settings, logs, stage timings."""
