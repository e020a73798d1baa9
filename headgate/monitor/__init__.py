"""Probes and metrics of one process, on an address of their own, and its orderly end behind a load balancer."""
