"""Pure rules of the memory server: no clock, network, SQL or log."""
