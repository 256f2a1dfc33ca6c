"""Values for readers. Takes no lock and writes nothing."""
