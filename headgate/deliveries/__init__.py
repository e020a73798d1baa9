"""One message to one receiver, with every attempt to bring it there: what webhooks and notifications share."""
