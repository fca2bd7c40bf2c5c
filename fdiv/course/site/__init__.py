"""The site that ``fdiv run`` writes: lessons, an index, and pages to look things up, offline in a folder.

``outline`` reads the sections of a page, ``lessons`` turns notebooks into pages, ``shell`` is what stands
around every page, ``front`` the index, ``search`` the index of words. The pages to look things up are
``notation``, ``cheat_sheet``, ``choice`` (which loss?), ``results``, ``references`` and ``guides``.
"""
