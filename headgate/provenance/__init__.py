"""Where the values of a call were first seen (``input.provenance``)."""
