"""What things are and what follows from them: no input or output, no clock, no random."""
