"""The description of the interface (OpenAPI 3.1), completed beyond what the framework derives from the routes."""
