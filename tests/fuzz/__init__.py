"""Random programs of the whole language, each judged against plain Python: ``make fuzz`` and ``test_fuzz.py``.

A *family* writes programs of one kind (``families/``): most are tables of templates, which ``grammar`` fills in at random.
A program is a text: a module with ``program``, ``arguments`` and ``LEAVES`` (``case``).  ``judge`` runs it plainly and
differentiated, and says whether the derivative is right, refused, wrong, or ends in an exception of the engine.  ``shrink`` makes
a failing program as small as it can; the small program goes by hand into ``kept/``, which ``test_kept_programs.py`` runs.
``python -m fuzz`` runs many programs, keeps where it has come to, and goes on from there.
"""
