"""Which calls have failed: the overview counts and the search finds the same ones.

If nothing of an approved call was sent, its approval can be used again. So its status is ``approved``, while its last
execution has failed, as pages say.
"""

from typing import Final

HAS_FAILED: Final = """
    coalesce(a.status = 'failed' OR a.status = 'approved' AND (e.status = 'failed' OR e.error <> ''), false)
"""
"""Of an action ``a`` and its last execution ``e``."""
