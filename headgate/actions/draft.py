"""The draft of an action, for everything above this slice; the type lies below, where calls are read."""

from headgate.protocols.draft import ActionDraft, Effect, ReadCall, Source, make_draft

__all__ = ["ActionDraft", "Effect", "ReadCall", "Source", "make_draft"]
