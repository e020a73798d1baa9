"""Browser sessions: what a person's cookie stands for, kept on this side only."""
