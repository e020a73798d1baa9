"""Who owns an agent. Pure."""

from headgate.agents.model import Agent
from headgate.organizations.mail_addresses import lower_ascii


def is_owner(agent: Agent, *, user_id: str | None, email: str | None) -> bool:
    """Whether an agent's ``owner`` names this person, by user id or by verified email address.

    Administrators set ``owner``; it may also be the name of a team, which names nobody. A look-alike address is
    another person's (``mail_addresses``).
    """
    if agent.owner is None:
        return False
    if user_id is not None and agent.owner == user_id:
        return True
    if email is None or "@" not in email:
        return False
    return lower_ascii(agent.owner) == lower_ascii(email)
