"""What the repository needs to be kept, and never ships."""
