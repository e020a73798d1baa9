"""The same calls of builtins here and in OPA: a different value is a failure, an error here is counted."""
