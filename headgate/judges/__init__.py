"""Language models as judges of actions: asked with a deadline, answered in one strict form, cached, and bounded."""
