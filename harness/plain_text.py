"""Characters of quoted texts that no page, table or terminal may get, whoever wrote them."""

_CONTROLS = (*range(9), 11, 12, *range(14, 32), *range(127, 160))
_TURNS = (*range(0x202A, 0x202F), *range(0x2066, 0x206A))

UNSHOWN = dict.fromkeys((*_CONTROLS, *_TURNS), "\ufffd")
"""For `str.translate`: control characters but tab and line ends, and what turns a line's direction.

A text with such a turn reads otherwise than it is, as in "Trojan Source" (CVE-2021-42574).
"""
