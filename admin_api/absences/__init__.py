"""Absences: who decides in whose place, and until when."""
