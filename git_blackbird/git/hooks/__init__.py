"""The post-commit hook and the commits it lists."""
