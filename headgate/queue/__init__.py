"""The queue: work that is done after the transaction that asked for it, by the worker, at least once.

Declare a job once, beside the workflow that needs it::

    DELIVER = Job("webhook.deliver", queue="webhooks", backoff=Backoff(first_seconds=5, cap_seconds=3600))

Defer it in your own transaction; it exists if that commits, and names only (organization, id)::

    async with database.transaction(org_id) as connection:
        await store.insert_delivery(connection, org_id, delivery)
        await defer(connection, DELIVER, org_id, delivery.delivery_id)

or, in SQL, from a function of ours: ``PERFORM defer_job('webhooks', 'webhook.deliver', org, id, 0, null, null, null)``.
``at`` says when (null: at once), ``lock`` makes jobs run one after the other in the order of deferring, ``once`` adds
nothing where a job of that name waits already.

Carry it out in the worker: a coroutine that takes a JobReference, listed in ``headgate.worker.main``::

    Work(DELIVER, deliver, abandoned=park)

It may run twice (its worker was killed, or was silent for too long), so claim a row before every side effect. What it
raises is tried again by the job's backoff; ``RetryLater(seconds)`` says when. After the last attempt ``abandoned`` is
called and the job is kept as dead. A coroutine that blocks the loop looks like a dead worker: use a thread.
"""
