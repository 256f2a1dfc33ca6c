"""Starting, supervising and stopping the processes of agents."""
