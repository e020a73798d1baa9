"""Keys in a key management service: AWS KMS, and the transit engine of HashiCorp Vault and OpenBao."""
