"""The worker process: what has to be done by the clock rather than by a request."""
