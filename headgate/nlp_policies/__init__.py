"""Policies about what is said: judged by detectors or language models, after the rules, and only ever stricter."""
