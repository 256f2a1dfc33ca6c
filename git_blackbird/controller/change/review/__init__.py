"""Have a change reviewed by a spec and a code reviewer."""
