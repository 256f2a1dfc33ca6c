"""Changes as pairs of trees: taking parts of them, composing and merging them."""
