"""How long bodies are kept, how they are put away encrypted, and how they are forgotten while the record stays."""
