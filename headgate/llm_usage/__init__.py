"""What agents use of language models: tokens and estimated cost of each agent, model and day."""
