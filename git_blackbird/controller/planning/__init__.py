"""Plans that agents make: from a request to a plan that a person has accepted."""
