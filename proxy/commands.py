"""The type of what mitmproxy's layers are made of."""

from mitmproxy.proxy import layer

type Commands[T] = layer.CommandGenerator[T]
"""A generator that yields commands, is sent their replies, of any type, and returns T."""
