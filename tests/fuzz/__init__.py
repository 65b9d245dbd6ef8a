"""Random programs in the whole language, each compared with plain Python: ``make fuzz`` and ``test_fuzz.py``.

A *family* writes programs of one kind (``families/``); most families are tables of templates, which ``grammar`` fills
in at random.  A program is a text: a module with ``program``, ``arguments`` and ``LEAVES`` (``case``).  ``judge`` runs
it plainly and differentiated, and decides whether the derivative is right, refused or wrong, or the engine fails.
``shrink`` reduces a failing program; the reduced program is added by hand to ``kept/``, which ``test_fuzz.py`` runs.
``python -m fuzz`` runs many programs, saves its position, and continues from there.
"""
