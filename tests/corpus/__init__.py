"""Real architectures with small random configurations; see README.md."""
