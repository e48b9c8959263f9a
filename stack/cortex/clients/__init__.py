"""How the stack calls others."""
