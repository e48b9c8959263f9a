"""How each service's program is laid down, started, asked and stopped; one module a program."""
