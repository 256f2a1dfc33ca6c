"""Stories of whoever brings a repository, or works in one, and means harm."""
