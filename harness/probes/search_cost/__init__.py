"""What a search costs beside its floor: one embedding call and the fastest bare SQL there is."""
