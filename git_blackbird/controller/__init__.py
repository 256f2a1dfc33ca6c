"""The only package that combines the others.

Whatever reads state may raise UnusableError, whatever writes it SaveError; docstrings name other errors.
"""
