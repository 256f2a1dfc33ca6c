"""What is wrong in a repository, mending it, and removing what nothing needs any more."""
