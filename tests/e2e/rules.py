"""Policies that speak about one path."""


def rule(path: str, *, verdict: str = "require_approval", approval: str = "{}") -> str:
    """A policy that speaks about one path."""
    package = path.strip("/").replace("/", ".t").replace("-", "_")
    return (
        f"package {package}\n\n"
        f'{verdict} contains "a test asks for it" if input.http.path == "{path}"\n\n'
        f"approval := {approval}\n"
    )
