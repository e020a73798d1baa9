"""Who owns an agent. Pure."""

from headgate.agents.model import Agent


def is_owner(agent: Agent, *, user_id: str | None, email: str | None) -> bool:
    """Whether an agent's ``owner`` names this person, by user id or by verified email address.

    Administrators set ``owner``; it may also be the name of a team, which names nobody. Addresses are compared
    without regard to the case of ASCII letters only: ``lower()`` maps other letters to ASCII ones (U+212A to k), and a
    look-alike address is another person's.
    """
    if agent.owner is None:
        return False
    if user_id is not None and agent.owner == user_id:
        return True
    if email is None or "@" not in email:
        return False
    return agent.owner == email or (agent.owner.isascii() and email.isascii() and agent.owner.lower() == email.lower())
