-- Reports go when an organization's retention policy says so: the worker deletes those that are old.
GRANT DELETE ON reports TO headgate_worker;
