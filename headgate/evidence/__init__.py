"""Evidence: a Merkle tree over each organization's record, signed checkpoints of it, and packs that prove an action."""
