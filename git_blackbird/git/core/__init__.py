"""The repository, running git, references, trees and git's configuration."""
