"""A loopback stand-in for the Anthropic Messages API, so that the real ``claude`` runs without a model.

``anthropic.py`` is the server; it answers what a test tells it to. The program itself is the npm package
``@anthropic-ai/claude-code`` in the version of ``install.VERSION``: ``python tests/standin/install.py``
puts it into a cache folder, ``BLACKBIRD_TEST_CLAUDE`` names another one. Without it the tests marked
``real_agents`` are skipped and say so.
"""
