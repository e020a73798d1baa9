"""Endpoints of others that are told what happens, signed by the Standard Webhooks specification."""
