"""Prove changes: which hunks the checks notice."""
