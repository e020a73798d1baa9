"""The sessions of browsers: cookies, what a person sees of their own, what an administrator ends."""
