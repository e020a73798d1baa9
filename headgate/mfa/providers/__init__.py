"""Where a person's second factors are kept: by Headgate, or by the provider that issues their tokens."""
