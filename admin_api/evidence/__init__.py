"""Checkpoints, proofs and proof packs."""
