"""From the record to those who are told of it: a cursor over an organization's chain for each consumer."""
