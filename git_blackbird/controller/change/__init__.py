"""What is done with the change of a task: composed, checked, reviewed, decided on, landed, taken back."""
