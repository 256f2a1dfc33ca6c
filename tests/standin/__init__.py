"""Loopback stand-ins for the model servers, so that the real agents run without a model.

``server.py`` answers what a test tells it to and keeps what it was asked; ``anthropic.py``, ``openai.py``,
``opencode.py`` and ``gemini.py`` are the dialects it speaks, each with what its program needs to talk to
nobody else. ``install.py`` names the programs and puts them into a cache folder:
``python tests/standin/install.py``. ``real.py`` hands them to tests. Where a program cannot be had, the tests
that want it are skipped and say so.
"""
