"""What one caller can do to the others, one small function each; ``benchmarks.fairness`` runs them beside victims."""
