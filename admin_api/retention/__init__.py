"""How long bodies are kept, legal holds, and erasure."""
