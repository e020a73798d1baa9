"""Explicit actions that Headgate carries out itself: kept until they may run, tried, judged, tried again, ended."""
