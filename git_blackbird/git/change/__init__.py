"""Changes as pairs of trees: taking parts of them, composing, merging and replaying them."""
