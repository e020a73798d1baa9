"""Who calls the API: a token or an agent's key."""


def credential_headers(token: str | None, agent_key: str | None) -> dict[str, str]:
    """Of every call. Raises ValueError: exactly one credential is needed, or none for what is public."""
    if token is not None and agent_key is not None:
        raise ValueError("Give a token or an agent's key, not both. The API refuses two credentials.")
    headers = {"accept": "application/json"}
    if token is not None:
        headers["authorization"] = f"Bearer {token}"
    if agent_key is not None:
        headers["x-agent-key"] = agent_key
    return headers
