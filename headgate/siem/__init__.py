"""Recorded events on their way to a security team's own collection (SIEM): as OCSF, by syslog, HTTP or file."""
