"""NLP policies and the providers that judge by them."""
