"""Runs of agents on other machines: Dask starts them there, git carries the files."""
