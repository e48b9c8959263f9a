"""Pure shapes and rules that two parts must agree on."""
