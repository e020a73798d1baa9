"""What an agent has done lately, for policies: its session."""
