"""Breaking the glass: a person lets one denied action through, loudly, and somebody else looks at it afterwards."""
