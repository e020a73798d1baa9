"""What routes work with and ``compose`` makes once for the process. Nothing here imports a route."""
