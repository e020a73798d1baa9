"""Organizations as the operator makes them, and the people in them: members, their roles, invitations."""
